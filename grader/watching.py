"""What happens while a learner watches: a file was saved, a key was pressed."""

from __future__ import annotations

import select
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.terminal import read_keys

#: Looking at one file costs some microseconds; a save is seen at the second look after it.
LOOK_EVERY_MILLISECONDS = 20


@dataclass(frozen=True, slots=True)
class Saved:
    """The watched file has new content on disk, or is gone."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key of the keyboard."""

    name: str


@dataclass(frozen=True, slots=True)
class HungUp:
    """The terminal has gone."""


Event = Saved | Key | HungUp
Look = tuple[int, ...] | None


class Events:
    """Saves of one file and keys from a descriptor, as they come, in one stream.

    It is the file itself that is looked at, not what the system tells of its folder: so it may be
    a link, lie on a disk of another machine, or come into being with its folder later.
    """

    def __init__(self, file: Path, keyboard: int | None) -> None:
        self._file = file
        self._seen = self._told = _look_at(file)
        self._keys: deque[Key | HungUp] = deque()
        self._keyboard = select.poll()
        self._descriptor = keyboard
        if keyboard is not None:
            self._keyboard.register(keyboard, select.POLLIN)

    def __iter__(self) -> Iterator[Event]:
        while True:
            if self._is_saved():
                yield Saved()
            self._read_keys(LOOK_EVERY_MILLISECONDS)
            while self._keys:
                event = self._keys.popleft()
                yield event
                if isinstance(event, HungUp):
                    return

    def wants_out(self) -> bool:
        """Whether `q` was pressed, or the terminal has gone, since the last event."""
        self._read_keys(0)
        return any(event in (Key("q"), HungUp()) for event in self._keys)

    def _is_saved(self) -> bool:
        """Whether the file is another one than was told of, and is not being written any more."""
        before, self._seen = self._seen, _look_at(self._file)
        if self._seen != before or self._seen == self._told:
            return False
        self._told = self._seen
        return True

    def _read_keys(self, milliseconds: int) -> None:
        if not self._keyboard.poll(milliseconds) or self._descriptor is None:
            return
        keys = read_keys(self._descriptor)
        self._keys.extend([Key(key) for key in keys] if keys else [HungUp()])


def _look_at(file: Path) -> Look:
    """What changes with each save; None where there is no file."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns
