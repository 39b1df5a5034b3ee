"""What a learner has done: kept in `.vllmlings/progress.json`, written atomically."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from grader.files import unused, write_atomically
from grader.source import Unreadable, read_source

Count = Annotated[int, msgspec.Meta(ge=0)]
_DAMAGED = (msgspec.DecodeError, UnicodeDecodeError)


class LessonProgress(msgspec.Struct, omit_defaults=True):
    """One lesson's record. A digest names the content of the exercise that was graded."""

    hints_shown: Count = 0
    points: Count | None = None
    max_points: Count | None = None
    graded_digest: str | None = None
    passed_digest: str | None = None

    @property
    def ever_passed(self) -> bool:
        return self.passed_digest is not None


class State(msgspec.Struct, omit_defaults=True):
    """The whole file."""

    version: Literal[1] = 1
    lessons: dict[str, LessonProgress] = {}


def digest(exercise: Path) -> str | None:
    """What names an exercise's content; None when there is no such file."""
    try:
        return read_source(exercise).digest
    except Unreadable:
        return None


class Progress:
    """Reads and changes the progress file. Each change is on disk before it returns.

    A file that cannot be made sense of is set aside, never overwritten; `set_aside` then holds its
    new place. That, and a folder that
    cannot be read or written (`problem`), is no error, so that nobody loses a verdict by it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     progress = Progress(Path(folder))
    ...     with progress.change("kv_cache/block_pool") as lesson:
    ...         lesson.hints_shown += 1
    ...     Progress(Path(folder)).of("kv_cache/block_pool").hints_shown
    1
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / "progress.json"
        self.set_aside: Path | None = None
        self.problem: OSError | None = None

    def of(self, lesson: str) -> LessonProgress:
        """The lesson's record, an empty one if there is none yet."""
        return self.all().get(lesson, LessonProgress())

    def all(self) -> dict[str, LessonProgress]:
        """Every lesson that has a record."""
        try:
            return self._read().lessons
        except _DAMAGED:
            with self._locked():
                return self._sound().lessons

    @contextmanager
    def change(self, lesson: str) -> Iterator[LessonProgress]:
        """The lesson's record, written when the block ends; other processes wait meanwhile."""
        self.problem = None
        with self._locked():
            state = self._sound()
            record = state.lessons.setdefault(lesson, LessonProgress())
            yield record
            if self.problem is None:
                self._write(state)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with ExitStack() as stack:
            try:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                lock = stack.enter_context((self._file.parent / "progress.lock").open("a"))
                fcntl.flock(lock, fcntl.LOCK_EX)
            except OSError as error:
                self.problem = error
            yield

    def _sound(self) -> State:
        """What the file holds; a damaged one is set aside, which takes the lock."""
        try:
            return self._read()
        except _DAMAGED:
            aside = unused(self._file.with_name(f"progress.unreadable.{_timestamp()}.json"))
            try:
                self._file.rename(aside)
                self.set_aside = aside
            except OSError as error:
                self.problem = error
            return State()

    def _read(self) -> State:
        try:
            content = self._file.read_bytes()
        except FileNotFoundError:
            return State()
        except OSError as error:
            self.problem = error
            return State()
        return msgspec.json.decode(content, type=State)

    def _write(self, state: State) -> None:
        text = msgspec.json.format(msgspec.json.encode(state)).decode()
        try:
            write_atomically(self._file, text + "\n")
        except OSError as error:
            self.problem = error


def _timestamp() -> str:
    return datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
