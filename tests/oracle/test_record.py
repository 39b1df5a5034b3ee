"""How a trace of the real engine is kept."""

from pathlib import Path
from typing import Any

import pytest

from grader.oracle.record import PIN, dump, load, record, workload_sha256
from reference.engine import run_workload
from reference.trace import Trace, TraceError
from reference.workload import WorkloadError, parse_workload

WORKLOAD = "# A comment.\nrequests:\n  - {id: a, prompt: [1, 2, 3], max_tokens: 4}\n"


def engine(data: dict[str, Any]) -> Trace:
    return run_workload(parse_workload(data, "sent.yaml"), free_order=True)


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(WORKLOAD)
    return path


def test_the_trace_lies_beside_the_workload_and_names_it(workload: Path) -> None:
    path = record(workload, engine)
    assert path == workload.with_name("small.trace.json")
    recorded = load(path)
    assert recorded.pin == PIN
    assert recorded.workload_sha256 == workload_sha256(workload)
    assert recorded.trace.workload_name == "small"
    assert len(recorded.trace.outputs["a"]) == 4


def test_a_step_is_a_line(workload: Path) -> None:
    path = record(workload, engine)
    recorded = load(path)
    lines = [line for line in path.read_text().splitlines() if line.startswith('  {"step": ')]
    assert len(lines) == len(recorded.trace.steps)
    assert dump(recorded) == path.read_text()


def test_nothing_is_recorded_of_a_malformed_workload(workload: Path) -> None:
    workload.write_text("requests: [{id: a}]")
    with pytest.raises(WorkloadError, match=r"small\.yaml"):
        record(workload, engine)
    assert list(workload.parent.iterdir()) == [workload]


def test_a_failing_engine_leaves_the_old_trace(workload: Path) -> None:
    def broken(_data: dict[str, Any]) -> Trace:
        raise RuntimeError

    before = record(workload, engine).read_text()
    with pytest.raises(RuntimeError):
        record(workload, broken)
    assert workload.with_name("small.trace.json").read_text() == before


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"pin": "x", "workload_sha256": "y", "z": 1}'])
def test_what_is_no_trace_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.trace.json"
    path.write_text(text)
    with pytest.raises(TraceError):
        load(path)
