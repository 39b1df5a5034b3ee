"""Generic mutants: every small change that a mutation tool makes to what a solution's regions hold,
and every public function returning what it never should.

The library `cosmic-ray` (of the extra `dev`) makes the changes. Those that survive are either
equivalent, which `grader/mutants/<topic>/<lesson>.equivalent.yaml` says with the reason, or show
what the suite does not check.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml

from grader.lessons import Lesson
from grader.prove.change import Change
from grader.prove.shapes import shapes
from grader.prove.trials import generic_trial, shape_trial, solution_trial
from grader.prove.tried import try_all
from grader.stub import regions

#: Operators left out. Bits and powers are no learner's slip where a sum is meant; `is` stands for
#: `==` as far as small numbers and None go; variables need to be named to the tool.
_LEFT_OUT = ("Bit", "Shift", "Pow", "Invert", "UAdd", "_Is", "Variable", "RemoveDecorator")
_IDENTITY = "core/ReplaceComparisonOperator_Is_IsNot"

Fate = Literal["killed", "equivalent", "survived"]


class Equivalent(msgspec.Struct, frozen=True):
    """Changes of a line that are no mistakes, and why.

    They are those of any of the `operators` (without `core/`), each at `occurrence`.
    """

    line: str
    operators: list[str]
    reason: str
    occurrence: int = 0

    @property
    def keys(self) -> set[tuple[str, str, int]]:
        return {(f"core/{name}", self.line, self.occurrence) for name in self.operators}


class GenericRun(msgspec.Struct, frozen=True):
    """What became of a lesson's generic mutants.

    `stale` are entries of equivalents that no surviving change has; `broken` are changes that
    could not be graded.
    """

    lesson: str
    killed: int
    equivalent: int
    survived: list[Change]
    stale: list[tuple[str, str, int]]
    broken: list[tuple[Change, str]]


class SolutionRejected(Exception):
    """The suite rejects the solution as it is; `failed` are the checks and examples it fails."""

    def __init__(self, lesson: str, failed: list[str]) -> None:
        super().__init__(f"{lesson}: the suite rejects the solution itself: {', '.join(failed)}")
        self.lesson, self.failed = lesson, failed


def run_generic(
    lesson: Lesson, fresh: bool, jobs: int, tell: Callable[[int, int], None]
) -> GenericRun:
    """Grade every generic mutant of the lesson's solution.

    Raises:
        SolutionRejected: the suite rejects the solution itself, so that it would kill anything.
    """
    solution, filename = lesson.solution.read_text(encoding="utf-8"), str(lesson.solution)
    small, wrong_kinds = list(changes(solution, filename)), list(shapes(solution, filename))
    trials = {generic_trial(lesson, change.name, change.source): change for change in small}
    trials |= {shape_trial(lesson, change.name, change.source): change for change in wrong_kinds}
    unchanged = solution_trial(lesson)
    outcomes = try_all([unchanged, *trials], fresh, jobs, tell)
    if outcomes[unchanged].status != "passed":
        raise SolutionRejected(lesson.name, outcomes[unchanged].failed)
    broken, alive, passing = [], [], 0
    for trial, change in trials.items():
        outcome = outcomes[trial]
        if outcome.status == "grader_error":
            broken.append((change, outcome.cause))
        elif outcome.status == "passed" and change.may_pass:
            passing += 1
        elif outcome.status == "passed":
            alive.append(change)
    known = {key for one in equivalents(lesson) for key in one.keys}
    survived = [change for change in alive if change.key not in known]
    return GenericRun(
        lesson.name,
        killed=len(trials) - len(alive) - len(broken) - passing,
        equivalent=len(alive) - len(survived),
        survived=survived,
        stale=sorted(known - {change.key for change in alive}),
        broken=broken,
    )


def equivalents_file(lesson: Lesson) -> Path:
    """Where the survivors judged equivalent are written down."""
    return lesson.root / "grader" / "mutants" / f"{lesson.name}.equivalent.yaml"


def equivalents(lesson: Lesson) -> list[Equivalent]:
    """The survivors judged equivalent.

    Raises:
        msgspec.ValidationError: the file does not have its shape.
    """
    file = equivalents_file(lesson)
    if not file.is_file():
        return []
    return msgspec.convert(yaml.safe_load(file.read_text("utf-8")) or [], list[Equivalent])


def changes(solution: str, filename: str) -> Iterator[Change]:
    """The changes to what stands between a solution's marks, no two with the same outcome."""
    from cosmic_ray.ast import ast_nodes, get_ast

    inside = [range(first + 1, last) for first, last in regions(solution, filename)]
    tree = get_ast(solution)
    seen = {solution}
    count: Counter[tuple[str, str]] = Counter()
    for name, operator in _operators():
        positions = [at for node in ast_nodes(tree) for at in operator.mutation_positions(node)]
        for occurrence, ((number, _), _) in enumerate(positions):
            if not any(number in lines for lines in inside):
                continue
            mutated = _mutated(solution, operator, occurrence)
            if mutated in seen:
                continue
            seen.add(mutated)
            before, after = _first_difference(solution, mutated)
            yield Change(name, before, count[name, before], number, after, mutated)
            count[name, before] += 1


def _operators() -> Iterator[tuple[str, Any]]:
    from cosmic_ray import plugins

    for name in sorted(plugins.operator_names()):
        if name == _IDENTITY or not any(part in name for part in _LEFT_OUT):
            yield name, plugins.get_operator(name)()


def _mutated(solution: str, operator: Any, occurrence: int) -> str:
    from cosmic_ray.mutating import mutate_code

    mutated: str = mutate_code(solution, operator, occurrence)
    return mutated


def _first_difference(before: str, after: str) -> tuple[str, str]:
    pairs = zip(before.splitlines(), after.splitlines(), strict=False)
    return next((one.strip(), other.strip()) for one, other in pairs if one != other)
