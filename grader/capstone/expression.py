"""What a question asks for, as an expression over facts: read by hand, never evaluated as code.

before.finish_step.a                    a fact of one side
after.steps - before.steps              a difference, or a ratio with /
compare(after.steps, before.steps)      more, less or same
differ(finish_step)                     of which things a fact is not the same on both sides
count(after.waiting.3)                  how many a list has
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import TypeAlias

from grader.capstone.outcome import Fact, Facts

Answer: TypeAlias = "int | str | list[int] | list[str] | Fraction | None"
Sides: TypeAlias = "Mapping[str, Facts]"

_CALL = re.compile(r"(compare|differ|count)\((.*)\)")
_BINARY = re.compile(r"(\S+) ([-/]) (\S+)")
_FACT = re.compile(r"(before|after)\.([\w.]+)")


class BadExpression(ValueError):
    """An expression that says nothing: what is wrong with it, and where."""

    def __init__(self, text: str, problem: str) -> None:
        super().__init__(f"{text}: {problem}")
        self.text = text
        self.problem = problem


def evaluate(text: str, sides: Sides) -> Answer:
    """What the expression gives on the facts of both sides.

    Raises:
        BadExpression: it is none, or names a fact that there is not.

    >>> evaluate("after.steps - before.steps", {"before": {"steps": 7}, "after": {"steps": 9}})
    2
    """
    if call := _CALL.fullmatch(text):
        return _call(text, call[1], [part.strip() for part in call[2].split(",")], sides)
    if binary := _BINARY.fullmatch(text):
        left, right = _integer(binary[1], sides), _integer(binary[3], sides)
        if left is None or right is None:
            return None
        if binary[2] == "-":
            return left - right
        if right == 0:
            raise BadExpression(text, "division by 0")
        return Fraction(left, right)
    return _fact(text, sides)


def sides_asked(text: str) -> frozenset[str]:
    """Of which sides an expression speaks."""
    if text.startswith("differ("):
        return frozenset(("before", "after"))
    return frozenset(match[1] for match in _FACT.finditer(text))


def _call(text: str, name: str, arguments: list[str], sides: Sides) -> Answer:
    if name == "compare":
        if len(arguments) != 2:
            raise BadExpression(text, "compare takes two facts")
        return _compared(*(_integer(one, sides) for one in arguments))
    if name == "differ":
        prefix = f"{arguments[0]}."
        names = {f for facts in sides.values() for f in facts if f.startswith(prefix)}
        if not names:
            raise BadExpression(text, f"there is no fact {prefix}…")
        before, after = sides["before"], sides["after"]
        return sorted(f[len(prefix) :] for f in names if before.get(f) != after.get(f))
    value = _fact(arguments[0], sides)
    if not isinstance(value, list):
        raise BadExpression(text, f"{arguments[0]} is no list")
    return len(value)


def _compared(left: int | None, right: int | None) -> str:
    """What never comes to pass is more than any number."""
    if left == right:
        return "same"
    if right is None or (left is not None and left < right):
        return "less"
    return "more"


def _fact(text: str, sides: Sides) -> Fact:
    named = _FACT.fullmatch(text)
    if named is None:
        raise BadExpression(text, "no fact, difference, ratio, compare, differ or count")
    side, name = named.groups()
    if name not in sides[side]:
        raise BadExpression(text, f"there is no fact {name}")
    return sides[side][name]


def _integer(text: str, sides: Sides) -> int | None:
    if text.isdigit():
        return int(text)
    value = _fact(text, sides)
    if value is not None and not isinstance(value, int):
        raise BadExpression(text, "is no whole number")
    return value
