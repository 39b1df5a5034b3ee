"""How much of a question's points an answer earns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from grader.capstone.expression import Answer, evaluate
from grader.capstone.outcome import Both
from grader.capstone.questions import Question


@dataclass(frozen=True, slots=True)
class Mark:
    """A question, what was answered (None: `never`), the truth, and the points earned."""

    question: Question
    answered: bool
    answer: Answer
    truth: Answer
    earned: float

    @property
    def is_right(self) -> bool:
        return self.earned == self.question.points


def truths(questions: Sequence[Question], outcomes: Mapping[str, Both]) -> dict[str, Answer]:
    """The truth of each question by its id, from the outcomes of the scenarios by name.

    Raises:
        BadExpression: a question asks for what there is not.
    """
    facts = {
        name: {"before": both.before.facts, "after": both.after.facts}
        for name, both in outcomes.items()
    }
    return {each.id: evaluate(each.what, facts[each.scenario]) for each in questions}


def mark(
    questions: Sequence[Question], answers: Mapping[str, Answer], true: Mapping[str, Answer]
) -> tuple[Mark, ...]:
    """Every question marked; one that has no entry in `answers` earns nothing."""
    marks = []
    for question in questions:
        truth, answered = true[question.id], question.id in answers
        answer = answers.get(question.id)
        earned = question.points * share(question, answer, truth) if answered else 0.0
        marks.append(Mark(question, answered, answer, truth, round(earned, 2)))
    return tuple(marks)


def share(question: Question, answer: Answer, truth: Answer) -> float:
    """From 0 to 1, how right an answer is.

    >>> asked = Question("q", "s", "How many?", "integer", "after.steps", 10, near=1)
    >>> [share(asked, answer, 7) for answer in (7, 8, 9, None)]
    [1.0, 0.5, 0.0, 0.0]
    """
    kind = question.kind
    if kind == "ratio":
        return _ratio(answer, truth, question.tolerance)
    if isinstance(truth, list):
        given = answer if isinstance(answer, list) else []
        if kind == "set":
            return _members(set(given), set(truth))
        return _order(given, truth) if kind == "order" else _places(given, truth)
    if answer == truth:
        return 1.0
    if kind == "integer" and isinstance(answer, int) and isinstance(truth, int):
        return 0.5 if abs(answer - truth) <= question.near else 0.0
    return 0.0


def _ratio(answer: Answer, truth: Answer, tolerance: float) -> float:
    if not isinstance(answer, (int, Fraction)) or not isinstance(truth, (int, Fraction)):
        return 1.0 if answer is None and truth is None else 0.0
    right = Fraction(truth)
    off, margin = abs(answer - right), Fraction(tolerance) * abs(right)
    return 1.0 if off <= margin else 0.5 if off <= 2 * margin else 0.0


def _places(given: Sequence[object], truth: Sequence[object]) -> float:
    """The share of values that stand in their places."""
    longest = max(len(given), len(truth))
    right = sum(one == other for one, other in zip(given, truth, strict=False))
    return right / longest if longest else 1.0


def _members(given: set[object], truth: set[object]) -> float:
    """The share of members found, less what is none."""
    if not truth:
        return 1.0 if not given else 0.0
    return max(0, len(given & truth) - len(given - truth)) / len(truth)


def _order(given: Sequence[object], truth: Sequence[object]) -> float:
    """1 for the right order, 0 for one no better than chance: by pairs in the right order."""
    pairs = list(combinations(truth, 2))
    if sorted(map(str, given)) != sorted(map(str, truth)):
        return 0.0
    if not pairs:
        return 1.0
    right = sum(given.index(first) < given.index(second) for first, second in pairs)
    return max(0.0, 2 * right / len(pairs) - 1)
