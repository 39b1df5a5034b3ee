"""Capstones as they lie in the course's folder `capstone`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from grader.capstone.questions import Question, read_questions
from grader.capstone.scenario import Scenario, read_scenario
from grader.lessons import ROOT

FOLDER = ROOT / "capstone"
_NAME = re.compile(r"(\d+)_(\w+)")


class UnknownCapstone(LookupError):
    """There is no capstone of that number."""

    def __init__(self, wanted: str, known: tuple[int, ...]) -> None:
        numbers = ", ".join(map(str, known))
        super().__init__(f"{wanted}: no such capstone; there are {numbers}")


@dataclass(frozen=True)
class Capstone:
    """One pull request: its brief, its scenarios, its questions, and the truth."""

    number: int
    folder: Path

    @property
    def slug(self) -> str:
        return self.folder.name.partition("_")[2]

    @cached_property
    def brief(self) -> str:
        return (self.folder / "brief.md").read_text(encoding="utf-8")

    @cached_property
    def after(self) -> str:
        """What happened and why: nothing for those who have not answered yet."""
        return (self.folder / "after.md").read_text(encoding="utf-8")

    @property
    def title(self) -> str:
        """The brief's first heading."""
        return self.brief.splitlines()[0].lstrip("# ")

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        return read_questions(self.folder / "questions.yaml")

    @cached_property
    def scenarios(self) -> dict[str, Scenario]:
        """By name, as the files give them."""
        files = sorted((self.folder / "scenarios").glob("*.yaml"))
        return {file.stem: read_scenario(file) for file in files}

    @property
    def points(self) -> int:
        return sum(question.points for question in self.questions)

    @property
    def measured_file(self) -> Path:
        return self.folder / "measured.json"

    @property
    def diff_file(self) -> Path:
        return self.folder / "diff.yaml"


def reading(kind: str, folder: Path = FOLDER) -> str:
    """How scenarios of a kind are to be read; "" where nothing needs to be said."""
    path = folder / f"{kind}.md"
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def capstones(folder: Path = FOLDER) -> tuple[Capstone, ...]:
    """All that there are, by number."""
    found = [
        Capstone(int(match[1]), path)
        for path in folder.iterdir()
        if (match := _NAME.fullmatch(path.name)) and (path / "questions.yaml").is_file()
    ]
    return tuple(sorted(found, key=lambda one: one.number))


def capstone(number: int, folder: Path = FOLDER) -> Capstone:
    """The capstone of that number; raises UnknownCapstone."""
    everything = capstones(folder)
    for one in everything:
        if one.number == number:
            return one
    raise UnknownCapstone(str(number), tuple(one.number for one in everything))
