"""Draws workloads, runs each on the reference engine and on the real one, and compares them."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as draw_from
from hypothesis.strategies import SearchStrategy

from grader.oracle.situations import situations
from grader.oracle.strategies import workloads
from reference.engine import run_workload
from reference.trace import StepRecord, Trace
from reference.workload import parse_workload

#: Runs a workload given as plain data.
Runner = Callable[[dict[str, Any]], Trace]


@dataclass(frozen=True)
class Disagreement:
    """Where the two engines part: the workload, the first differing step, and its records.

    `fields` names what differs in the step's records. When only one engine has the step at all
    the other's record is None. `problem` is in words, for what is no step.
    """

    workload: dict[str, Any]
    step: int
    fields: tuple[str, ...]
    reference: StepRecord | None
    real: StepRecord | None
    problem: str = ""

    def values(self, name: str) -> tuple[Any, Any]:
        """A field's value on the reference engine and on the real one."""
        return getattr(self.reference, name, None), getattr(self.real, name, None)


@dataclass(frozen=True)
class DiffReport:
    """The result of one differential run."""

    seed: int
    examples: int
    steps: int
    seconds: float
    counts: Counter[str] = field(default_factory=Counter)
    disagreement: Disagreement | None = None

    @property
    def agrees(self) -> bool:
        """Whether every drawn workload ran alike on both."""
        return self.disagreement is None


class Differs(Exception):
    """Raised inside Hypothesis, so that it shrinks the workload."""

    def __init__(self, disagreement: Disagreement) -> None:
        super().__init__(disagreement.problem or f"step {disagreement.step}")
        self.disagreement = disagreement


def diff(
    examples: int,
    seed: int,
    real: Runner,
    *,
    reference: Runner | None = None,
    drawn: SearchStrategy[dict[str, Any]] | None = None,
    progress: Callable[[int, bool], None] = lambda _done, _shrinking: None,
) -> DiffReport:
    """Compare the reference engine with `real` on so many drawn workloads.

    `drawn` draws workloads of a narrower kind. The first disagreement is shrunk and ends the run.
    `progress` is told how many workloads have been compared, and whether one is being shrunk.
    """
    run_reference = reference or reference_runner
    counts: Counter[str] = Counter()
    done = steps = 0
    found: Disagreement | None = None

    @draw_from(seed)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        report_multiple_bugs=False,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(workloads() if drawn is None else drawn)
    def agree(data: dict[str, Any]) -> None:
        nonlocal done, steps, found
        theirs = real(data)
        disagreement = compare_on(data, run_reference, theirs)
        if disagreement is not None:
            found = disagreement
            progress(done, True)
            raise Differs(disagreement)
        if found is None:
            done += 1
            steps += len(theirs.steps)
            counts.update(situations(parse_workload(data, "drawn.yaml"), theirs))
            progress(done, False)

    start = time.perf_counter()
    try:
        agree()
    except Differs as error:
        found = error.disagreement
    return DiffReport(seed, done, steps, time.perf_counter() - start, counts, found)


def reference_runner(data: dict[str, Any]) -> Trace:
    """Run a workload given as plain data on the reference engine."""
    return run_workload(parse_workload(data, "drawn.yaml"), free_order=True)


def compare_on(data: dict[str, Any], run: Runner, real: Trace) -> Disagreement | None:
    """Run the reference engine on a workload and compare it with the real engine's trace."""
    try:
        ours = run(data)
    except Exception as error:
        problem = f"the reference engine raised {type(error).__name__}: {error}"
        return Disagreement(data, 0, (), None, None, problem)
    return compare(data, ours, real)


def compare(data: dict[str, Any], reference: Trace, real: Trace) -> Disagreement | None:
    """The first difference between two traces of one workload; None when there is none."""
    for ours, theirs in zip(reference.steps, real.steps, strict=False):
        names = ours.differing_fields(theirs)
        if names:
            return Disagreement(data, ours.step, tuple(names), ours, theirs)
    shorter = min(len(reference.steps), len(real.steps))
    if len(reference.steps) != len(real.steps):
        ours_last = next(iter(reference.steps[shorter:]), None)
        theirs_last = next(iter(real.steps[shorter:]), None)
        problem = f"{len(reference.steps)} steps, and {len(real.steps)} in vLLM"
        return Disagreement(data, shorter, (), ours_last, theirs_last, problem)
    if reference.outputs != real.outputs:
        problem = f"outputs {reference.outputs}, and {real.outputs} in vLLM"
        return Disagreement(data, shorter, (), None, None, problem)
    if reference.complete != real.complete:
        problem = f"complete is {reference.complete}, and {real.complete} in vLLM"
        return Disagreement(data, shorter, (), None, None, problem)
    return None
