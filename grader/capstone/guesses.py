"""What those earn who answer without thinking: an exam must give them little."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction

from grader.capstone.expression import Answer
from grader.capstone.marking import mark, truths
from grader.capstone.outcome import Both
from grader.capstone.questions import Question

GUESSES_AT_MOST = 0.4
RANDOM_GUESSES = 40


def best_guess(
    questions: Sequence[Question], outcomes: Mapping[str, Both], true: Mapping[str, Answer]
) -> tuple[str, float]:
    """The way to answer without thinking that earns most, and its points."""
    earned = guesses(questions, outcomes, true)
    return max(earned.items(), key=lambda one: one[1])


def guesses(
    questions: Sequence[Question], outcomes: Mapping[str, Both], true: Mapping[str, Answer]
) -> dict[str, float]:
    """The points of each way to answer without thinking.

    `nothing changes` answers for both sides what holds before, `after equals before` what holds
    after; at random is the mean of many.
    """
    before = {name: Both(both.before, both.before) for name, both in outcomes.items()}
    after = {name: Both(both.after, both.after) for name, both in outcomes.items()}
    return {
        "nothing changes": _points(questions, truths(questions, before), true),
        "after equals before": _points(questions, truths(questions, after), true),
        "random answers": at_random(questions, true),
    }


def at_random(questions: Sequence[Question], true: Mapping[str, Answer]) -> float:
    """What random answers of the right form and size earn on average."""
    draw = random.Random(0)
    total = 0.0
    for _ in range(RANDOM_GUESSES):
        answers = {each.id: _random(each, true[each.id], draw) for each in questions}
        total += _points(questions, answers, true)
    return total / RANDOM_GUESSES


def _points(
    questions: Sequence[Question], answers: Mapping[str, Answer], true: Mapping[str, Answer]
) -> float:
    return sum(each.earned for each in mark(questions, answers, true))


def _random(question: Question, truth: Answer, draw: random.Random) -> Answer:
    if question.kind == "choice":
        return draw.choice(question.choices)[0]
    if question.kind == "ratio":
        return Fraction(draw.uniform(0.3, 3.0))
    if isinstance(truth, list):
        if question.kind == "set":
            members = [*truth, *(f"other {n}" for n in range(max(1, len(truth))))]
            return [one for one in members if draw.random() < 0.5]
        shuffled: list[str] = [str(one) for one in truth]
        draw.shuffle(shuffled)
        return shuffled
    size = abs(truth) if isinstance(truth, int) else 10
    return draw.randint(0, 2 * size + 4)
