"""The engine on the pool of the lesson kv_events_and_offload."""

from pathlib import Path
from typing import Any

import pytest

from grader.bare import import_plainly
from grader.lessons import ROOT
from grader.oracle.record import load, trace_path
from grader.parts.kv_cache.kv_events_and_offload import install
from grader.workloads import read_workload
from reference.engine import Parts, run_workload

WORKLOADS = sorted((ROOT / "tests" / "traces").glob("events_*.yaml"))


@pytest.fixture
def lesson() -> Any:
    return import_plainly(ROOT / "solutions" / "kv_cache" / "kv_events_and_offload.py")


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda path: path.stem)
def test_the_trace_is_that_of_the_real_engine(lesson: Any, workload: Path) -> None:
    trace = run_workload(read_workload(workload), install(Parts(), lesson), free_order=True)
    assert trace == load(trace_path(workload)).trace


@pytest.mark.parametrize("name", ["get_new_blocks", "cache_full_blocks", "take_events"])
def test_the_submission_is_what_tells(lesson: Any, name: str) -> None:
    def refuse(*_: Any) -> Any:
        raise NotImplementedError(name)

    setattr(lesson.EventingPool, name, refuse)
    workload = read_workload(ROOT / "tests" / "traces" / "events_twins.yaml")
    with pytest.raises(NotImplementedError, match=name):
        run_workload(workload, install(Parts(), lesson))


def test_without_events_the_engine_does_not_ask_the_submission() -> None:
    workload = read_workload(ROOT / "tests" / "traces" / "one_request.yaml")
    assert run_workload(workload, install(Parts(), None)) == run_workload(workload)
