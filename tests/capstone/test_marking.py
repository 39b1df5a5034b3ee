"""How much an answer earns: all of it when it is right, a part when it is nearly so."""

from fractions import Fraction
from typing import Any

import pytest

from grader.capstone.marking import mark, share
from grader.capstone.questions import Question, QuestionKind


def asked(kind: QuestionKind, **more: Any) -> Question:
    return Question("q", "s", "What?", kind, "after.x", 10, **more)


@pytest.mark.parametrize(
    ("question", "answer", "truth", "expected"),
    [
        (asked("integer"), 7, 7, 1),
        (asked("integer"), 8, 7, 0),
        (asked("integer", near=1), 6, 7, 0.5),
        (asked("integer", near=1), None, 7, 0),
        (asked("integer", near=1), None, None, 1),
        (asked("integer"), 0, None, 0),
        (asked("choice"), "more", "more", 1),
        (asked("choice"), "less", "more", 0),
        (asked("ratio", tolerance=0.1), Fraction(105, 100), Fraction(1), 1),
        (asked("ratio", tolerance=0.1), Fraction(115, 100), Fraction(1), 0.5),
        (asked("ratio", tolerance=0.1), Fraction(2), Fraction(1), 0),
        (asked("ratio"), None, Fraction(1), 0),
        (asked("list"), [1, 2, 4], [1, 2, 3, 4], 0.5),
        (asked("list"), [], [], 1),
        (asked("set"), ["b", "a"], ["a", "b"], 1),
        (asked("set"), ["a"], ["a", "b"], 0.5),
        (asked("set"), ["a", "c"], ["a", "b"], 0),
        (asked("set"), ["a"], [], 0),
        (asked("set"), [], [], 1),
        (asked("order"), ["a", "b", "c"], ["a", "b", "c"], 1),
        (asked("order"), ["c", "b", "a"], ["a", "b", "c"], 0),
        (asked("order"), ["a", "b"], ["a", "b", "c"], 0),
    ],
)
def test_the_share_of_the_points(
    question: Question, answer: Any, truth: Any, expected: float
) -> None:
    assert share(question, answer, truth) == expected


def test_what_is_left_open_earns_nothing_even_where_never_is_right() -> None:
    (marked,) = mark([asked("integer")], {}, {"q": None})
    assert (marked.answered, marked.earned) == (False, 0)
    (marked,) = mark([asked("integer")], {"q": None}, {"q": None})
    assert (marked.answered, marked.earned, marked.is_right) == (True, 10, True)
