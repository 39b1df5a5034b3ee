"""Traces as plain data."""

import json

import pytest
from engine_kit import run

from reference.trace import StepRecord, Trace, TraceError


def test_a_trace_survives_json() -> None:
    trace = run([{"id": "a", "prompt": [1, 2, 3], "max_tokens": 3}])
    assert Trace.from_dict(json.loads(json.dumps(trace.to_dict()))) == trace


def test_the_order_of_the_schedule_counts() -> None:
    one = StepRecord(0, num_scheduled_tokens={"a": 1, "b": 2})
    other = StepRecord(0, num_scheduled_tokens={"b": 2, "a": 1})
    assert one != other
    assert one.differing_fields(other) == ["num_scheduled_tokens"]
    assert one == StepRecord(0, num_scheduled_tokens={"a": 1, "b": 2})


def test_differences_are_named() -> None:
    other = StepRecord(0, running=["a"], num_free_blocks=3)
    assert StepRecord(0).differing_fields(other) == ["running", "num_free_blocks"]


def test_an_empty_free_list_is_not_the_same_as_none() -> None:
    record = StepRecord(0, free_block_ids=[])
    assert StepRecord.from_dict(record.to_dict()).free_block_ids == []
    assert StepRecord.from_dict(StepRecord(0).to_dict()).free_block_ids is None


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "not a trace: trace: not a mapping"),
        ({}, "not a trace: trace: a required field is missing"),
        ({"workload_name": "w", "steps": 3}, "not a trace: steps: not a list"),
        ({"workload_name": "w", "steps": [{}]}, "not a trace: steps: a required field is missing"),
        ({"workload_name": "w", "stps": []}, "not a trace: trace.stps: unknown"),
    ],
)
def test_what_is_no_trace_is_refused(data: object, message: str) -> None:
    with pytest.raises(TraceError, match=f"^{message}$"):
        Trace.from_dict(data)
