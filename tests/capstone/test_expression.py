"""What a question asks for is read by hand from a small vocabulary."""

from fractions import Fraction

import pytest

from grader.capstone.expression import BadExpression, evaluate, sides_asked
from grader.capstone.outcome import Facts

BEFORE: Facts = {"steps": 7, "end.a": 3, "end.b": 5, "end.c": None, "queue.2": ["b", "a"]}
AFTER: Facts = {"steps": 9, "end.a": 3, "end.b": 6, "end.c": 4, "queue.2": ["a", "b"]}
SIDES = {"before": BEFORE, "after": AFTER}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("before.steps", 7),
        ("before.end.c", None),
        ("after.queue.2", ["a", "b"]),
        ("after.steps - before.steps", 2),
        ("before.steps - after.steps", -2),
        ("before.steps - 3", 4),
        ("after.steps / before.steps", Fraction(9, 7)),
        ("after.end.c - before.end.c", None),
        ("compare(after.steps, before.steps)", "more"),
        ("compare(before.end.a, after.end.a)", "same"),
        ("compare(after.end.c, before.end.c)", "less"),
        ("differ(end)", ["b", "c"]),
        ("count(after.queue.2)", 2),
    ],
)
def test_an_expression_gives(text: str, expected: object) -> None:
    assert evaluate(text, SIDES) == expected


@pytest.mark.parametrize(
    "text",
    [
        "steps",
        "before.nothing",
        "after.steps*2",
        "__import__('os')",
        "compare(after.steps)",
        "differ(nothing)",
        "count(after.steps)",
        "after.queue.2 - 1",
        "after.steps / 0",
        "",
    ],
)
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(BadExpression):
        evaluate(text, SIDES)


def test_the_sides_that_an_expression_speaks_of() -> None:
    assert sides_asked("after.steps - before.steps") == {"before", "after"}
    assert sides_asked("differ(end)") == {"before", "after"}
    assert sides_asked("before.steps") == {"before"}
