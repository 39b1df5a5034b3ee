"""What happens while a learner watches: a file was saved, a key was pressed."""

from __future__ import annotations

import os
import selectors
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.terminal import read_keys

STEP_MILLISECONDS = 20


@dataclass(frozen=True, slots=True)
class Saved:
    """The watched file has new content on disk."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key of the keyboard."""

    name: str


@dataclass(frozen=True, slots=True)
class HungUp:
    """The terminal has gone."""


Event = Saved | Key | HungUp


class Events:
    """Saves of one file and keys from a descriptor, as they come, in one stream.

    Used with `with`: watching begins when this is made and ends with the block.
    """

    def __init__(self, file: Path, keyboard: int | None) -> None:
        self._file = file.resolve()
        self._keyboard = keyboard
        self._stop = threading.Event()
        self._wake, self._waker = os.pipe()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def __enter__(self) -> Events:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        os.close(self._waker)
        os.close(self._wake)

    def __iter__(self) -> Iterator[Event]:
        with selectors.DefaultSelector() as selector:
            selector.register(self._wake, selectors.EVENT_READ)
            if self._keyboard is not None:
                selector.register(self._keyboard, selectors.EVENT_READ)
            while True:
                for ready, _ in selector.select():
                    if ready.fd == self._wake:
                        os.read(self._wake, 4096)
                        yield Saved()
                        continue
                    keys = read_keys(ready.fd)
                    if not keys:
                        yield HungUp()
                        return
                    yield from (Key(key) for key in keys)

    def _watch(self) -> None:
        from watchfiles import watch

        # The folder and not the file: editors save by renaming a new file over the old one.
        for changes in watch(
            self._file.parent,
            stop_event=self._stop,
            step=STEP_MILLISECONDS,
            rust_timeout=200,
            yield_on_timeout=True,
            raise_interrupt=False,
        ):
            if any(Path(name).resolve() == self._file for _, name in changes):
                os.write(self._waker, b".")
