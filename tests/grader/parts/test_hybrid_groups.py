"""The engine on the functions of the lesson hybrid_groups."""

from pathlib import Path
from typing import Any

import pytest

from grader.bare import import_plainly
from grader.lessons import ROOT
from grader.oracle.record import load, trace_path
from grader.parts.kv_cache.hybrid_groups import install
from grader.workloads import read_workload
from reference.engine import Parts, run_workload

WORKLOADS = sorted((ROOT / "tests" / "traces").glob("groups_*.yaml"))


@pytest.fixture
def lesson() -> Any:
    return import_plainly(ROOT / "solutions" / "kv_cache" / "hybrid_groups.py")


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda path: path.stem)
def test_the_trace_is_that_of_the_real_engine(lesson: Any, workload: Path) -> None:
    trace = run_workload(read_workload(workload), install(Parts(), lesson), free_order=True)
    assert trace == load(trace_path(workload)).trace


@pytest.mark.parametrize(
    "name",
    [
        "find_longest_common_hit",
        "get_num_skipped_tokens",
        "reachable_blocks",
        "remove_skipped_blocks",
    ],
)
def test_the_submission_is_what_decides(lesson: Any, name: str) -> None:
    def refuse(*_: Any) -> Any:
        raise NotImplementedError(name)

    setattr(lesson, name, refuse)
    workload = read_workload(ROOT / "tests" / "traces" / "groups_window_beside_full.yaml")
    with pytest.raises(NotImplementedError, match=name):
        run_workload(workload, install(Parts(), lesson))
