"""Where a learner's files lie."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader.lessons import ROOT
from grader.source import printable


@dataclass(frozen=True, slots=True)
class Places:
    """What is the learner's own: exercises and state. Lessons are named `topic/lesson`.

    The environment variable `VLLMLINGS_HOME` moves it away from the course's own files.
    """

    home: Path = ROOT

    @property
    def exercises(self) -> Path:
        return self.home / "exercises"

    @property
    def state(self) -> Path:
        return self.home / ".vllmlings"

    @property
    def workloads(self) -> Path:
        return ROOT / "exercises" / "workloads"

    def exercise(self, lesson: str) -> Path:
        return self.exercises / f"{lesson}.py"

    def kept(self, lesson: str, timestamp: str) -> Path:
        return self.state / "kept" / f"{lesson}.{timestamp}.py"


@cache
def places() -> Places:
    """The places in force for this process."""
    home = os.environ.get("VLLMLINGS_HOME")
    return Places(Path(home).resolve()) if home else Places()


def shown(path: Path) -> str:
    """The path as a person would type it from where they are, if that is shorter.

    >>> shown(Path.cwd() / "exercises" / "block_pool.py")
    'exercises/block_pool.py'
    """
    try:
        return printable(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return printable(path)
