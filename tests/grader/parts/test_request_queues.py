"""The engine on the queues of the lesson request_queues."""

from typing import Any

import pytest

from grader.bare import import_plainly
from grader.checks import Unmet
from grader.lessons import ROOT
from grader.parts.scheduler.request_queues import install
from grader.workloads import read_workload
from reference.engine import Parts, run_workload

TRACES = ROOT / "tests" / "traces"


@pytest.fixture
def lesson() -> Any:
    return import_plainly(ROOT / "solutions" / "scheduler" / "request_queues.py")


@pytest.mark.parametrize(
    "name",
    [
        "grammar_blocks_a_request",
        "grammar_fails",
        "grammar_under_priority",
        "preemption_of_several",
        "priority_order",
        "priority_tight_and_mixed",
        "abort_under_priority",
        "everything_at_once",
    ],
)
def test_the_trace_is_the_engines_own(lesson: Any, name: str) -> None:
    workload = read_workload(TRACES / f"{name}.yaml")
    assert run_workload(workload, install(Parts(), lesson)) == run_workload(workload)


@pytest.mark.parametrize("answer", ["nobody", ["r"], None])
def test_what_is_no_id_of_a_waiting_request_is_the_submissions_fault(
    lesson: Any, answer: Any
) -> None:
    lesson.FCFSRequestQueue.peek_request = lambda _: answer
    workload = read_workload(TRACES / "one_request.yaml")
    with pytest.raises(Unmet, match="ids of requests that are in it"):
        run_workload(workload, install(Parts(), lesson))
