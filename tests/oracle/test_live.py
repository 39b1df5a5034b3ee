"""The real vLLM itself, where it is installed: `vllmlings oracle install`."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.oracle.differential import diff
from grader.oracle.environment import find_oracle
from grader.oracle.record import load, record, trace_path
from grader.oracle.session import real_engine
from grader.worker import SubmissionRaised
from reference.trace import Trace

TRACES = Path(__file__).parents[1] / "traces"

pytestmark = pytest.mark.skipif(
    find_oracle() is None,
    reason="needs the oracle (vllmlings oracle install); recorded traces are replayed without it",
)


@pytest.fixture(scope="module")
def real() -> Iterator[Callable[[dict[str, Any]], Trace]]:
    with real_engine() as run:
        yield run


def test_the_engines_agree_on_drawn_workloads(real: Callable[[dict[str, Any]], Trace]) -> None:
    report = diff(60, 7, real)
    assert report.agrees, report.disagreement


@pytest.mark.parametrize("name", ["preemption_fcfs", "priority_refund", "everything_at_once"])
def test_recording_again_changes_nothing(
    real: Callable[[dict[str, Any]], Trace], tmp_path: Path, name: str
) -> None:
    kept = TRACES / f"{name}.yaml"
    copy = tmp_path / kept.name
    copy.write_bytes(kept.read_bytes())
    assert load(record(copy, real)) == load(trace_path(kept))


def test_a_malformed_workload_does_not_stop_the_real_engine(
    real: Callable[[dict[str, Any]], Trace],
) -> None:
    with pytest.raises(SubmissionRaised, match="WorkloadError"):
        real({"requests": [{"id": "a"}]})
    assert real({"requests": [{"id": "a", "prompt": [1], "max_tokens": 1}]}).complete
