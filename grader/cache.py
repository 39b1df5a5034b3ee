"""Verdicts kept from one grading to the next, by what they depend on."""

import hashlib
import os
import sys
from functools import cache
from pathlib import Path

import msgspec

from grader import verdict
from grader.files import write_atomically
from grader.lessons import ROOT, Lesson
from grader.source import Source
from grader.verdict import Died, OutOfMemory, TimedOut, Verdict

KEPT_PER_LESSON = 20
# What depends on the machine and on what else it does: another time it may come out differently.
_OF_THE_MOMENT = (TimedOut, Died, OutOfMemory)


def key(lesson: Lesson, submission: Source) -> str:
    """What a verdict depends on, as one digest: submission, solution, suite and engine.

    Raises:
        OSError: a file of the course cannot be read.
    """
    digest = hashlib.sha256(standard(lesson).encode())
    digest.update(submission.content)
    # Where it lies shows in its messages.
    digest.update(os.fsencode(submission.path.resolve()))
    return digest.hexdigest()


def standard(lesson: Lesson) -> str:
    """What the lesson's submissions are graded by, as one digest: solution, suite and engine.

    Raises:
        OSError: a file cannot be read.
    """
    digest = hashlib.sha256(_engine().encode())
    for path in (lesson.solution, lesson.suite):
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def find(folder: Path, lesson: str, digest: str) -> Verdict | None:
    """The verdict kept under a key; None if there is none, or none that can be read."""
    try:
        return verdict.decode(_file(folder, lesson, digest).read_bytes())
    except (OSError, msgspec.DecodeError):
        return None


def keep(folder: Path, digest: str, found: Verdict) -> None:
    """Keep a verdict under a key, unless it may come out differently another time.

    A folder that cannot be written to is no reason to fail: nothing is kept then.
    """
    if not _lasting(found):
        return
    path = _file(folder, found.lesson, digest)
    try:
        write_atomically(path, verdict.encode(found).decode())
        for old in sorted(path.parent.glob("*.json"), key=_age)[:-KEPT_PER_LESSON]:
            old.unlink(missing_ok=True)
    except OSError:
        return


def _lasting(found: Verdict) -> bool:
    failures = [example.failure for example in found.examples]
    failures += [check.failure for check in found.checks]
    return found.status in ("passed", "failed") and not any(
        isinstance(failure, _OF_THE_MOMENT) for failure in failures
    )


def _file(folder: Path, lesson: str, digest: str) -> Path:
    return folder / "verdicts" / lesson / f"{digest}.json"


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


@cache
def _engine() -> str:
    """A digest of the engine model, the grader and what they run on."""
    # Imported where it is used: it takes as long as all the rest of this.
    from importlib.metadata import version

    digest = hashlib.sha256(f"{sys.version} {version('hypothesis')} {version('pytest')}".encode())
    grader = ROOT / "grader"
    folders = [ROOT / "reference", grader / "worker", grader / "runner", grader / "parts"]
    inside = [path for folder in folders for path in folder.rglob("*.py")]
    for path in sorted([*inside, *grader.glob("*.py")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()
