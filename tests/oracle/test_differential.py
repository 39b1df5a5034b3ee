"""What the comparison of two engines finds, and how it tells it."""

import io
from copy import deepcopy
from typing import Any

import pytest
from rich.console import Console

from grader.oracle.differential import DiffReport, Disagreement, compare, diff, reference_runner
from grader.oracle.render import print_report
from grader.oracle.situations import SITUATIONS
from reference.engine import run_workload
from reference.trace import StepRecord, Trace
from reference.workload import parse_workload

EXAMPLES = 20


def without_hits(data: dict[str, Any]) -> Trace:
    """An engine with a mistake: it never finds a prefix."""
    data = deepcopy(data)
    for request in data["requests"]:
        request["prompt_logprobs"] = True
    return run_workload(parse_workload(data, "drawn.yaml"), free_order=True)


@pytest.fixture(scope="module")
def mistaken() -> DiffReport:
    return diff(EXAMPLES, 1, without_hits)


def rendered(report: DiffReport) -> str:
    console = Console(file=io.StringIO(), width=100, no_color=True)
    print_report(report, console)
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def test_an_engine_agrees_with_itself() -> None:
    report = diff(20, 1, reference_runner)
    assert report.agrees
    assert report.examples == 20
    assert report.steps > 20
    assert "agree: 20 drawn workloads" in rendered(report)


def test_the_same_seed_draws_the_same_workloads() -> None:
    one, other = diff(20, 3, reference_runner), diff(20, 3, reference_runner)
    assert (one.steps, one.counts) == (other.steps, other.counts)
    assert one.steps != diff(20, 4, reference_runner).steps


def test_drawn_workloads_crowd_the_situations() -> None:
    counts = diff(100, 1, reference_runner).counts
    never = {name for name in SITUATIONS if not counts[name]}
    assert len(never) <= len(SITUATIONS) // 3, never


def test_a_disagreement_is_shrunk_to_what_causes_it(mistaken: DiffReport) -> None:
    found = mistaken.disagreement
    assert found is not None
    assert found.workload["engine"]["enable_prefix_caching"]
    assert all(len(request["prompt"]) <= 2 for request in found.workload["requests"])
    assert found.fields == ("prefix_cache_queries",)
    assert found.values("prefix_cache_queries") == (len(found.workload["requests"]), 0)


def test_a_disagreement_shows_both_records_side_by_side(mistaken: DiffReport) -> None:
    text = rendered(mistaken)
    assert "DISAGREE" in text
    assert "enable_prefix_caching: true" in text
    (marked,) = [line for line in text.splitlines() if "≠" in line]
    assert "prefix_cache_queries" in marked


def test_an_engine_that_raises_is_a_disagreement() -> None:
    def broken(_data: dict[str, Any]) -> Trace:
        raise KeyError("a")

    found = diff(5, 1, reference_runner, reference=broken).disagreement
    assert found is not None
    assert found.problem == "the reference engine raised KeyError: 'a'"


@pytest.mark.parametrize(
    ("reference", "real", "expected"),
    [
        (Trace("w"), Trace("w"), None),
        (
            Trace("w", [StepRecord(0)]),
            Trace("w", [StepRecord(0), StepRecord(1)]),
            Disagreement({}, 1, (), None, StepRecord(1), "1 steps, and 2 in vLLM"),
        ),
        (
            Trace("w", [StepRecord(0, waiting=["a"])]),
            Trace("w", [StepRecord(0, running=["a"])]),
            Disagreement(
                {},
                0,
                ("running", "waiting"),
                StepRecord(0, waiting=["a"]),
                StepRecord(0, running=["a"]),
            ),
        ),
        (
            Trace("w", outputs={"a": [1]}),
            Trace("w", outputs={"a": [2]}),
            Disagreement({}, 0, (), None, None, "outputs {'a': [1]}, and {'a': [2]} in vLLM"),
        ),
        (
            Trace("w", complete=False),
            Trace("w"),
            Disagreement({}, 0, (), None, None, "complete is False, and True in vLLM"),
        ),
    ],
    ids=["alike", "one step more", "a field", "outputs", "end"],
)
def test_traces_differ_in_the_first_step_that_differs(
    reference: Trace, real: Trace, expected: Disagreement | None
) -> None:
    assert compare({}, reference, real) == expected
