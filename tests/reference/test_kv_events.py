"""What the prefix cache tells of itself, and that it is silent unless it is asked to speak."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from grader.workloads import read_workload
from reference.engine import Engine, run_workload
from reference.trace import StepRecord
from reference.workload import WorkloadError, parse_workload

TRACES = Path(__file__).parents[1] / "traces"
EVENTS = {"block_size": 4, "num_gpu_blocks": 8, "max_model_len": 28, "enable_kv_cache_events": True}


def steps_of(*requests: dict[str, Any], **engine: Any) -> list[StepRecord]:
    data = {"engine": EVENTS | engine, "requests": [{"max_tokens": 2} | one for one in requests]}
    return run_workload(parse_workload(data, "events.yaml")).steps


def events_of(steps: list[StepRecord]) -> list[dict[str, Any]]:
    return [event for step in steps for event in step.kv_events]


def test_full_blocks_are_told_once_with_tokens_and_parent() -> None:
    steps = steps_of({"id": "a", "prompt": list(range(14))}, max_num_batched_tokens=8)
    first, second = events_of(steps)
    assert (first["token_ids"], first["parent_block_hash"]) == (list(range(8)), None)
    assert len(first["block_hashes"]) == 2
    assert (second["token_ids"], second["parent_block_hash"]) == (
        [8, 9, 10, 11],
        first["block_hashes"][1],
    )


def test_hits_and_freed_blocks_tell_nothing() -> None:
    request = {"prompt": list(range(9))}
    steps = steps_of({"id": "a"} | request, {"id": "b", "arrival": 4} | request)
    assert [event["type"] for event in events_of(steps)] == ["BlockStored"]


def test_what_is_evicted_is_told_before_what_is_stored_in_its_place() -> None:
    steps = steps_of(
        {"id": "a", "prompt": list(range(9))},
        {"id": "b", "prompt": list(range(100, 125)), "arrival": 3},
    )
    stored, *removed, last = events_of(steps)
    assert [event["block_hashes"] for event in removed] == [
        [stored["block_hashes"][1]],
        [stored["block_hashes"][0]],
    ]
    assert {event["type"] for event in removed} == {"BlockRemoved"}
    assert last["type"] == "BlockStored"


def test_a_reset_clears_all_at_once() -> None:
    data = {
        "engine": EVENTS,
        "reset_prefix_cache": [1, 3],
        "requests": [{"id": "a", "prompt": [1, 2, 3, 4, 5], "max_tokens": 2}],
    }
    steps = Engine(parse_workload(data | {"max_steps": 9}, "reset.yaml"))
    kinds = [[event["type"] for event in steps.step().kv_events] for _ in range(4)]
    assert kinds == [["BlockStored"], [], [], ["AllBlocksCleared"]]


@pytest.mark.parametrize("path", sorted(TRACES.glob("events_*.yaml")), ids=lambda path: path.stem)
def test_counting_the_events_tells_what_is_cached(path: Path) -> None:
    workload = read_workload(path)
    engine, counts = Engine(workload), Counter[tuple[int, int]]()
    grouped = workload.engine.kv_cache_groups is not None
    while not engine.done:
        for event in engine.step().kv_events:
            if event["type"] == "AllBlocksCleared":
                counts.clear()
                continue
            keys = [(block_hash, event["group_idx"]) for block_hash in event["block_hashes"]]
            step = 1 if event["type"] == "BlockStored" else -1
            counts.update(dict.fromkeys(keys, 0))
            for key in keys:
                counts[key] += step
        if workload.engine.async_scheduling:
            continue
        cached = Counter(
            (int.from_bytes((key[:-4] if grouped else key)[-8:], "big"), key[-1] if grouped else 0)
            for key in map(engine.block_pool.block_hash, range(workload.engine.num_gpu_blocks))
            if key is not None
        )
        assert +counts == cached


def test_without_the_key_nothing_is_told_and_decisions_are_the_same() -> None:
    for path in sorted(TRACES.glob("events_*.yaml")):
        data = read_workload(path).to_dict()
        told = run_workload(parse_workload(data, "told.yaml"))
        data["engine"].pop("enable_kv_cache_events")
        silent = run_workload(parse_workload(data, "silent.yaml"))
        assert not events_of(silent.steps)
        assert {
            name
            for ours, theirs in zip(told.steps, silent.steps, strict=True)
            for name in ours.differing_fields(theirs)
        } == {"kv_events"}


def test_full_attention_must_have_blocks_of_one_hash_each() -> None:
    groups = [
        {"kind": "full_attention", "block_size": 4},
        {"kind": "sliding_window", "block_size": 2, "sliding_window": 4},
    ]
    with pytest.raises(WorkloadError, match="full_attention in blocks of 2 tokens"):
        steps_of({"id": "a", "prompt": [1]}, kv_cache_groups=groups)
