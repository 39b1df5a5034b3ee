"""A learner's own exam: the scenarios' numbers drawn from a name, so that the mechanism still
shows where it should, and nowhere else."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from grader.capstone.exam import Capstone
from grader.capstone.guesses import GUESSES_AT_MOST, best_guess
from grader.capstone.marking import truths
from grader.capstone.outcome import Both
from grader.capstone.scenario import Range, Scenario
from reference.workload import WorkloadError

TRIES = 500


@dataclass(frozen=True, slots=True)
class Exam:
    """A capstone's scenarios as one learner has them, by name, and what they give."""

    capstone: Capstone
    student: str | None
    scenarios: Mapping[str, Scenario]
    outcomes: Mapping[str, Both]


class NothingDrawn(Exception):
    """Within the ranges there is hardly an exam in which the change shows as it should."""

    def __init__(self, number: int, student: str, why: str) -> None:
        super().__init__(f"capstone {number}, student {student}: {TRIES} draws, the last {why}")


def exam_of(capstone: Capstone, student: str | None = None) -> Exam:
    """The exam of a student, the same whenever it is asked for; None is the course's own.

    Raises:
        NothingDrawn: the ranges of the scenarios are too wide.
        WorkloadError: a scenario cannot be run.
    """
    if student is None:
        scenarios = capstone.scenarios
        return Exam(capstone, None, scenarios, _run(scenarios))
    why = ""
    for attempt in range(TRIES):
        seed = f"{capstone.number}/{student}/{attempt}"
        scenarios = {name: varied(one, seed) for name, one in capstone.scenarios.items()}
        try:
            exam = Exam(capstone, student, scenarios, _run(scenarios))
        except WorkloadError as error:
            why = str(error)
            continue
        why = dull(exam)
        if not why:
            return exam
    raise NothingDrawn(capstone.number, student, why)


def dull(exam: Exam) -> str:
    """Why an exam is not worth taking; "" where it is."""
    for name, scenario in exam.scenarios.items():
        if exam.outcomes[name].differ is not scenario.matters:
            return f"{name}: the change {'does not show' if scenario.matters else 'shows'}"
    questions = exam.capstone.questions
    guess, points = best_guess(questions, exam.outcomes, truths(questions, exam.outcomes))
    if points >= GUESSES_AT_MOST * exam.capstone.points:
        return f"{guess} earns {points:.1f} points"
    return ""


def varied(scenario: Scenario, seed: str) -> Scenario:
    """The scenario with each number in its ranges drawn anew."""
    inputs: dict[str, Any] = copy.deepcopy(dict(scenario.inputs))
    for each in scenario.draw:
        _set(inputs, each, _drawn(each.values, f"{seed}/{scenario.name}/{each.key}"))
    return replace(scenario, inputs=inputs)


def _run(scenarios: Mapping[str, Scenario]) -> dict[str, Both]:
    return {name: scenario.both() for name, scenario in scenarios.items()}


def _drawn(values: range, seed: str) -> int:
    digest = hashlib.sha256(seed.encode()).digest()
    return values[int.from_bytes(digest[:8], "big") % len(values)]


def _set(data: Any, drawn: Range, value: int) -> None:
    """Set a number by its keys; a list's item by its `id`, or by its place."""
    *folders, last = drawn.key.split(".")
    for key in folders:
        data = _inside(data, key)
    if isinstance(data, list) and last.isdigit() and int(last) < len(data):
        data[int(last)] = value
    elif isinstance(data, dict):
        data[last] = value
    else:
        raise WorkloadError("draw", drawn.key, "is not in the inputs", "keys of the inputs")


def _inside(data: Any, key: str) -> Any:
    if isinstance(data, list):
        if key.isdigit():
            return data[int(key)] if int(key) < len(data) else None
        return next((one for one in data if isinstance(one, dict) and one.get("id") == key), None)
    return data.get(key) if isinstance(data, dict) else None
