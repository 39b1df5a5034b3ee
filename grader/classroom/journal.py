"""The journal: every verdict of a class, one line of JSON each, only ever added to.

A line is on the disk before anybody hears of its verdict. A line that was cut off by a crash is
as if it had never been begun. Verdicts stay on the disk: in memory is only where they lie.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType

import msgspec

from grader.sandbox import Sandbox
from grader.verdict import Verdict


class Entry(msgspec.Struct, frozen=True):
    """The verdict on one lesson of one student.

    `key` is what the verdict depends on; `digest` the submission's; `path` where it lay in the
    folder of submissions.
    """

    student: str
    lesson: str
    path: str
    key: str
    digest: str
    sandbox: Sandbox
    verdict: Verdict


class _Status(msgspec.Struct):
    status: str


class _Head(msgspec.Struct):
    """What of an entry is needed to find it again."""

    student: str
    lesson: str
    key: str
    verdict: _Status


class JournalInUse(Exception):
    """Another process writes to this journal."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path}: another run is grading this course; wait for it, or end it first"
        )
        self.path = path


class Journal:
    """Verdicts by student and lesson, and by key. Made by `open_journal` or `read_journal`."""

    def __init__(self, path: Path, descriptor: int | None, is_writer: bool) -> None:
        self.path = path
        self._descriptor = descriptor
        self._is_writer = is_writer
        self._latest: dict[tuple[str, str], tuple[int, int]] = {}
        self._by_key: dict[str, tuple[int, int]] = {}
        self._end = 0
        self._read_all()

    def latest(self, student: str, lesson: str) -> Entry | None:
        """The last entry of a student's lesson."""
        return self._entry(self._latest.get((student, lesson)))

    def find(self, key: str) -> Verdict | None:
        """The verdict that a submission with this key has, of whichever student it was."""
        entry = self._entry(self._by_key.get(key))
        return None if entry is None else entry.verdict

    def add(self, entry: Entry) -> None:
        """Write an entry; when this returns it is on the disk."""
        assert self._is_writer, "it was opened to be read"
        assert self._descriptor is not None
        line = msgspec.json.encode(entry) + b"\n"
        written = 0
        while written < len(line):
            written += os.write(self._descriptor, line[written:])
        os.fdatasync(self._descriptor)
        head = _Head(entry.student, entry.lesson, entry.key, _Status(entry.verdict.status))
        self._note(head, (self._end, len(line)))
        self._end += len(line)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _read_all(self) -> None:
        if self._descriptor is None:
            return
        with open(os.dup(self._descriptor), "rb") as stream:
            stream.seek(0)
            for line in stream:
                if not line.endswith(b"\n"):
                    break
                if head := _head(line):
                    self._note(head, (self._end, len(line)))
                self._end += len(line)
        if self._is_writer:
            os.ftruncate(self._descriptor, self._end)

    def _note(self, head: _Head, place: tuple[int, int]) -> None:
        self._latest[head.student, head.lesson] = place
        # What the grader failed at is tried again, and stands in nobody else's place.
        if head.verdict.status != "grader_error":
            self._by_key[head.key] = place

    def _entry(self, place: tuple[int, int] | None) -> Entry | None:
        if place is None or self._descriptor is None:
            return None
        offset, length = place
        return msgspec.json.decode(os.pread(self._descriptor, length, offset), type=Entry)


def open_journal(path: Path) -> Journal:
    """The journal to write to; made if there is none.

    Raises:
        JournalInUse: another process has it open for writing.
        OSError: it cannot be written to.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise JournalInUse(path) from None
    return Journal(path, descriptor, is_writer=True)


def read_journal(path: Path) -> Journal:
    """The journal to read from, an empty one if there is none; another process may write to it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return Journal(path, None, is_writer=False)
    return Journal(path, descriptor, is_writer=False)


def _head(line: bytes) -> _Head | None:
    """What is needed of a line; None where it is damaged."""
    try:
        msgspec.json.decode(line, type=Entry)
        return msgspec.json.decode(line, type=_Head)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
