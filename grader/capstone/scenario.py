"""A scenario: what is run before and after a change, and within which ranges it may be varied."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader.capstone.kinds import KINDS, kind
from grader.capstone.outcome import Both, Data, Outcome
from grader.workloads import headline, read_yaml
from reference.fields import Fields, WorkloadError, got

KEYS = ("kind", "matters", "fakes", "inputs", "before", "after", "draw")
SIDES = ("before", "after")


@dataclass(frozen=True, slots=True)
class Range:
    """A number of the inputs that may be drawn: its keys, as `requests.b.max_tokens`, and the
    values that it may have."""

    key: str
    values: range


@dataclass(frozen=True, slots=True)
class Scenario:
    """One of a capstone's scenarios.

    Attributes:
        name: the file's, without its ending.
        title: the comment that the file begins with.
        kind: one of `grader.capstone.kinds`.
        matters: whether the change is to show in it.
        fakes: what stands in for a part of vLLM, and how; "" for nothing.
        inputs: what both sides are given: a workload, for the kind `engine`.
        sides: what is said of `before` and `after`, by these names.
        draw: what may be drawn anew for each student.
    """

    name: str
    title: str
    kind: str
    matters: bool
    fakes: str
    inputs: Data
    sides: dict[str, Data]
    draw: tuple[Range, ...] = field(default=())

    @property
    def source(self) -> str:
        """What its mistakes are told with."""
        return f"{self.name}.yaml"

    @property
    def described(self) -> str:
        """What a learner is to know besides the inputs themselves."""
        return kind(self.kind).described(self.inputs, self.source)

    def run(self, side: str) -> Outcome:
        """One side, on the model; raises WorkloadError when the inputs are not as they should."""
        return kind(self.kind).run(self.inputs, self.sides[side], self.source)

    def both(self) -> Both:
        """Both sides, on the model."""
        return Both(self.run("before"), self.run("after"))


def read_scenario(path: Path) -> Scenario:
    """The scenario in a file; raises WorkloadError at the first mistake in its frame."""
    data = read_yaml(path)
    top = Fields(data, path.name, "", KEYS)
    name = top.value("kind", "engine")
    if name not in KINDS:
        raise top.error("kind", got(name), ", ".join(KINDS))
    return Scenario(
        name=path.stem,
        title=headline(path),
        kind=str(name),
        matters=top.boolean("matters", True),
        fakes=top.text("fakes", "none") if "fakes" in top else "",
        inputs=_mapping(top, "inputs"),
        sides={side: _mapping(top, side) for side in SIDES},
        draw=_ranges(top),
    )


def _mapping(top: Fields, name: str) -> dict[str, Any]:
    value = top.value(name, {})
    if not isinstance(value, dict):
        raise top.error(name, got(value), "a mapping")
    return value


def _ranges(top: Fields) -> tuple[Range, ...]:
    written = _mapping(top, "draw")
    data = top.mapping("draw", tuple(written))
    ranges = []
    for key in written:
        numbers = data.integers(key)
        if not 2 <= len(numbers) <= 3 or numbers[0] > numbers[1]:
            raise data.error(key, got(list(numbers)), "[from, to] or [from, to, by]")
        first, last, *by = numbers
        ranges.append(Range(str(key), range(first, last + 1, *by)))
    return tuple(ranges)


__all__ = ["SIDES", "Range", "Scenario", "WorkloadError", "read_scenario"]
