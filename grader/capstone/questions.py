"""A capstone's questions: what is asked, in which form an answer is given, and for how much."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

from grader.workloads import read_yaml
from reference.fields import Fields, WorkloadError, got

#: `integer`: a whole number, or `never`. `list`: values in their places. `set`: ids in any order.
#: `order`: given ids put in order. `choice`: one of some words. `ratio`: a number, which may be off
#: by a share of `tolerance`.
QuestionKind = Literal["integer", "list", "set", "order", "choice", "ratio"]
KEYS = ("id", "scenario", "text", "kind", "what", "points", "near", "tolerance", "choices")


@dataclass(frozen=True, slots=True)
class Question:
    """One question.

    Attributes:
        id: its name in the file of predictions.
        scenario: the name of the one that it is about.
        text: what is asked, in words.
        kind: the form of the answer.
        what: the expression that gives the truth, of `grader.capstone.expression`.
        points: for the right answer.
        near: half the points for a whole number that is off by no more than this.
        tolerance: by which share of the truth a ratio may be off; half the points for twice as far.
        choices: what may be chosen, by the word that is written, with what it means.
    """

    id: str
    scenario: str
    text: str
    kind: QuestionKind
    what: str
    points: int
    near: int = 0
    tolerance: float = 0.0
    choices: tuple[tuple[str, str], ...] = ()


def read_questions(path: Path) -> tuple[Question, ...]:
    """The questions in a file; raises WorkloadError at the first mistake."""
    top = Fields({"questions": read_yaml(path)}, path.name, "", ("questions",))
    questions = tuple(_question(data) for data in top.items("questions", KEYS))
    ids = [question.id for question in questions]
    for each in ids:
        if ids.count(each) > 1:
            raise WorkloadError(path.name, each, "asked twice", "an id of its own for each")
    return questions


def _question(data: Fields) -> Question:
    kind = data.text("kind")
    if kind not in get_args(QuestionKind):
        raise data.error("kind", got(kind), ", ".join(get_args(QuestionKind)))
    return Question(
        id=data.identifier("id"),
        scenario=data.text("scenario"),
        text=" ".join(data.text("text").split()),
        kind=cast(QuestionKind, kind),
        what=data.text("what"),
        points=data.integer("points", minimum=1),
        near=data.integer("near", 0, minimum=0),
        tolerance=data.number("tolerance", 0.02),
        choices=_choices(data),
    )


def _choices(data: Fields) -> tuple[tuple[str, str], ...]:
    written = data.value("choices", {})
    if not isinstance(written, dict):
        raise data.error("choices", got(written), "a mapping from a word to what it means")
    return tuple((str(word), " ".join(str(meaning).split())) for word, meaning in written.items())
