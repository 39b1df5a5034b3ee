"""A lesson's trials: submissions, and the end that each must come to."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from grader.files import write_atomically
from grader.lessons import ROOT, Lesson
from grader.places import places
from grader.prove.mutants import Mutant
from grader.stub import stub_of

Kind = Literal["stub", "solution", "alternative", "mutant", "generic", "shape", "real"]


class Trial(msgspec.Struct, frozen=True):
    """One submission of a lesson, whose files lie under `root`."""

    lesson: str
    kind: Kind
    name: str
    submission: str
    root: str = str(ROOT)

    @property
    def of(self) -> Lesson:
        """The lesson with its files."""
        return Lesson(self.lesson, Path(self.root))

    @property
    def must_pass(self) -> bool:
        """How it has to end: whether it is right."""
        return self.kind in ("solution", "alternative", "real")

    @property
    def whole(self) -> bool:
        """Whether every check is to be run, whatever failed before it."""
        return self.must_pass or self.kind == "shape"


def stub_trial(lesson: Lesson) -> Trial:
    """The stub. A blank line is added: the runner runs nothing on an untouched one."""
    return _written(lesson, "stub", "stub", stub_of(lesson) + "\n")


def solution_trial(lesson: Lesson) -> Trial:
    return _trial(lesson, "solution", "solution", lesson.solution)


def real_trial(lesson: Lesson, adapter: Path) -> Trial:
    """The real vLLM, behind the lesson's adapter."""
    return _trial(lesson, "real", "vllm", adapter)


def alternative_trials(lesson: Lesson) -> list[Trial]:
    return [_trial(lesson, "alternative", path.stem, path) for path in alternatives_of(lesson)]


def mutant_trial(lesson: Lesson, mutant: Mutant, solution: str) -> Trial:
    """The solution with the mutant's mistake.

    Raises:
        BrokenMutant: its edit does not apply.
    """
    return _written(lesson, "mutant", mutant.name, mutant.applied_to(solution))


def generic_trial(lesson: Lesson, name: str, source: str) -> Trial:
    """The solution with a change that a mutation tool made."""
    return _written(lesson, "generic", name, source)


def shape_trial(lesson: Lesson, name: str, source: str) -> Trial:
    """The solution with a function that returns what it should not."""
    return _written(lesson, "shape", name, source)


def alternatives_of(lesson: Lesson) -> list[Path]:
    """The right submissions that are written in another way."""
    return sorted(alternatives_folder(lesson).glob("*.py"))


def alternatives_folder(lesson: Lesson) -> Path:
    return lesson.root / "grader" / "alternatives" / lesson.name


def _written(lesson: Lesson, kind: Kind, name: str, source: str) -> Trial:
    """A trial of a submission that is made up. It is kept where an author can look at it."""
    path = places().state / "trials" / lesson.name / kind / f"{name}.py"
    if not path.is_file() or path.read_text(encoding="utf-8") != source:
        write_atomically(path, source)
    return _trial(lesson, kind, name, path)


def _trial(lesson: Lesson, kind: Kind, name: str, path: Path) -> Trial:
    return Trial(lesson.name, kind, name, str(path), str(lesson.root))
