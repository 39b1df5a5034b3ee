"""What a learner has done: kept in `.vllmlings/progress.json`, written atomically."""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import msgspec

from grader.files import write_atomically

VERSION = 1


class LessonProgress(msgspec.Struct, omit_defaults=True):
    """One lesson's record. A digest names the content of the exercise that was graded."""

    hints_shown: int = 0
    points: int | None = None
    max_points: int | None = None
    graded_digest: str | None = None
    passed_digest: str | None = None

    @property
    def ever_passed(self) -> bool:
        return self.passed_digest is not None


class State(msgspec.Struct, omit_defaults=True):
    """The whole file."""

    version: int = VERSION
    lessons: dict[str, LessonProgress] = {}


def digest(exercise: Path) -> str | None:
    """What names an exercise's content; None when there is no such file."""
    try:
        return hashlib.sha256(exercise.read_bytes()).hexdigest()
    except OSError:
        return None


class Progress:
    """Reads and changes the progress file. Each change is on disk before it returns.

    A file that cannot be read is set aside, never overwritten; `set_aside` then holds its new
    place, so that the learner can be told.

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

    def of(self, lesson: str) -> LessonProgress:
        """The lesson's record, an empty one if there is none yet."""
        return self._read().lessons.get(lesson, LessonProgress())

    def all(self) -> dict[str, LessonProgress]:
        """Every lesson that has a record."""
        return self._read().lessons

    @contextmanager
    def change(self, lesson: str) -> Iterator[LessonProgress]:
        """The lesson's record, written when the block ends; other processes wait meanwhile."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with (self._file.parent / "progress.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            state = self._read()
            record = state.lessons.setdefault(lesson, LessonProgress())
            yield record
            text = msgspec.json.format(msgspec.json.encode(state)).decode()
            write_atomically(self._file, text + "\n")

    def _read(self) -> State:
        try:
            content = self._file.read_bytes()
        except FileNotFoundError:
            return State()
        try:
            return msgspec.json.decode(content, type=State)
        except (msgspec.DecodeError, UnicodeDecodeError):
            self.set_aside = self._file.with_name(f"progress.unreadable.{_timestamp()}.json")
            self._file.rename(self.set_aside)
            return State()


def _timestamp() -> str:
    return datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
