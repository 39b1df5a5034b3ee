"""What was predicted, kept before the truth is shown: the first attempt stays what it was."""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import msgspec

from grader.files import write_atomically

VERSION = 1


class Attempt(msgspec.Struct, omit_defaults=True):
    """The file of predictions as it was graded; the points are None until the truth is known."""

    at: str
    predictions: str
    points: float | None = None
    max_points: int = 0


class Kept(msgspec.Struct, omit_defaults=True):
    """All attempts of one learner at one capstone, the first one first."""

    version: int = VERSION
    attempts: list[Attempt] = []


class UnreadableAttempts(Exception):
    """The file of attempts is damaged; it is left as it is."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path}: the attempts kept there cannot be read; move the file away to start anew"
        )


class Attempts:
    """The attempts of one learner at one capstone, in the folder of the learner's state.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     attempts = Attempts(Path(folder), 3, None)
    ...     attempts.lock_in("capstone: 3")
    ...     attempts.settle(71.5, 100)
    ...     [attempt.points for attempt in attempts.all()]
    [71.5]
    """

    def __init__(self, state: Path, number: int, student: str | None) -> None:
        # A student's name may hold what no file's name may.
        named = f".{hashlib.sha256(student.encode()).hexdigest()[:16]}" if student else ""
        self.path = state / "capstone" / f"{number}{named}.json"

    def all(self) -> list[Attempt]:
        """Every attempt; raises UnreadableAttempts."""
        return self._read().attempts

    @property
    def first(self) -> Attempt | None:
        """The one that counts: nothing had been shown before it."""
        attempts = self.all()
        return attempts[0] if attempts else None

    def lock_in(self, predictions: str) -> None:
        """Keep what is predicted. Nobody is shown the truth before this is on disk."""
        now = datetime.now().isoformat(timespec="seconds")
        self._change(lambda kept: kept.attempts.append(Attempt(now, predictions)))

    def settle(self, points: float, max_points: int) -> None:
        """The points of the attempt that was locked in last."""

        def change(kept: Kept) -> None:
            kept.attempts[-1].points = points
            kept.attempts[-1].max_points = max_points

        self._change(change)

    def _change(self, change: Callable[[Kept], None]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            kept = self._read()
            change(kept)
            text = msgspec.json.format(msgspec.json.encode(kept)).decode()
            write_atomically(self.path, text + "\n")

    def _read(self) -> Kept:
        try:
            kept = msgspec.json.decode(self.path.read_bytes(), type=Kept)
        except FileNotFoundError:
            return Kept()
        except (msgspec.DecodeError, OSError):
            raise UnreadableAttempts(self.path) from None
        if kept.version != VERSION:
            raise UnreadableAttempts(self.path)
        return kept
