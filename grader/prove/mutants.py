"""A lesson's mutants: wrong submissions, each a small edit of the solution."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import yaml

from grader.lessons import Lesson


class Mutant(msgspec.Struct, frozen=True, rename={"with_": "with"}):
    """A mistake in one sentence, and the edit that makes it: `replace` stands once in the
    solution."""

    name: str
    mistake: str
    replace: str
    with_: str

    def applied_to(self, solution: str) -> str:
        """The solution with this mistake.

        Raises:
            BrokenMutant: the text to replace does not stand there exactly once.

        >>> Mutant("m", "Adds.", "a - b", "a + b").applied_to("return a - b")
        'return a + b'
        """
        count = solution.count(self.replace)
        if count != 1:
            raise BrokenMutant(self.name, f"its `replace` stands {count} times in the solution")
        if self.replace == self.with_:
            raise BrokenMutant(self.name, "its edit changes nothing")
        return solution.replace(self.replace, self.with_)


class BrokenMutant(Exception):
    """A mutant that makes no submission; `name` is empty where the file itself is at fault."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"mutant {name}: {problem}" if name else problem)
        self.name, self.problem = name, problem


def file_of(lesson: Lesson) -> Path:
    """Where the lesson's mutants are written down."""
    return lesson.root / "grader" / "mutants" / f"{lesson.name}.yaml"


def mutants_of(lesson: Lesson) -> list[Mutant]:
    """The lesson's mutants, in the order they stand; none if it has no file of them.

    Raises:
        BrokenMutant: the file does not have its shape, or names a mutant twice.
    """
    try:
        text = file_of(lesson).read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    try:
        data: Any = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        mutants = msgspec.convert(data or [], list[Mutant])
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        raise BrokenMutant("", " ".join(str(error).split())) from None
    names = [mutant.name for mutant in mutants]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise BrokenMutant(twice[0], "the name is given twice")
    return mutants
