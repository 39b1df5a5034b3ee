"""Whole workloads: what their outputs may depend on, and what happens when."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from engine_kit import own_tokens, run
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.block_pool import BlockPool
from reference.engine import Engine, Parts, run_workload
from reference.kv_cache_manager import KVCacheManager
from reference.kv_cache_utils import RequestHashes
from reference.workload import Workload, parse_workload

MAX_MODEL_LEN = 48

PROMPTS = st.builds(
    lambda family, shared, own: own_tokens(0, 40)[:shared] + [family] * own,
    family=st.integers(0, 2),
    shared=st.integers(0, 20),
    own=st.integers(1, 8),
)

REQUESTS = st.lists(
    st.fixed_dictionaries(
        {
            "prompt": PROMPTS,
            "max_tokens": st.integers(1, 18),
            "arrival": st.integers(0, 6),
            "priority": st.integers(0, 2),
            "min_tokens": st.integers(0, 1),
        }
    ),
    min_size=1,
    max_size=6,
)


@st.composite
def engines(draw: st.DrawFn) -> dict[str, Any]:
    """Limits of every kind under which any of the requests can finish."""
    block_size = draw(st.integers(1, 8))
    fewest_blocks = -(-MAX_MODEL_LEN // block_size) + 1
    seats = draw(st.integers(1, 6))
    chunked = draw(st.booleans())
    return {
        "block_size": block_size,
        "num_gpu_blocks": draw(st.integers(fewest_blocks, fewest_blocks + 20)),
        "max_model_len": MAX_MODEL_LEN,
        "max_num_seqs": seats,
        "max_num_batched_tokens": draw(st.integers(seats if chunked else MAX_MODEL_LEN, 80)),
        "long_prefill_token_threshold": draw(st.integers(0, 10)) if chunked else 0,
        "enable_chunked_prefill": chunked,
        "enable_prefix_caching": draw(st.booleans()),
        "policy": draw(st.sampled_from(["fcfs", "priority"])),
        "scheduler_reserve_full_isl": draw(st.booleans()),
    }


@st.composite
def engines_with_outputs_in_flight(draw: st.DrawFn) -> dict[str, Any]:
    """The same, and perhaps async scheduling, drafts or both."""
    engine = draw(engines())
    engine["async_scheduling"] = draw(st.booleans())
    if engine["long_prefill_token_threshold"] == 0:
        # A single token beside which drafts are asked for must fit into a step with them, or its
        # request waits for ever; so it does in vLLM.
        most = min(4, engine["max_num_batched_tokens"] - 1)
        engine["num_speculative_tokens"] = draw(st.integers(0, most))
    return engine


def parse(engine: dict[str, Any], requests: list[dict[str, Any]]) -> Workload:
    named = [{"id": f"r{number}"} | request for number, request in enumerate(requests)]
    model = {"vocab_size": 3000, "eos_token_id": 17}
    return parse_workload({"engine": engine, "model": model, "requests": named}, "drawn.yaml")


@settings(deadline=None)
@given(engines_with_outputs_in_flight(), engines_with_outputs_in_flight(), REQUESTS, st.data())
def test_outputs_depend_on_prompts_and_stop_rules_alone(
    one: dict[str, Any], other: dict[str, Any], requests: list[dict[str, Any]], data: st.DataObject
) -> None:
    arrivals = data.draw(st.lists(st.integers(0, 9), min_size=6, max_size=6))
    later = [r | {"arrival": a} for r, a in zip(requests, arrivals, strict=False)]
    first = run_workload(parse(one, requests))
    second = run_workload(parse(other, later))
    assert first.complete
    assert second.complete
    assert first.outputs == second.outputs


@settings(deadline=None)
@given(
    engines_with_outputs_in_flight(), REQUESTS, st.sets(st.integers(0, 20), min_size=1, max_size=4)
)
def test_outputs_survive_a_reset_under_running_requests(
    engine: dict[str, Any], requests: list[dict[str, Any]], steps: set[int]
) -> None:
    workload = parse(engine, requests)
    reset = replace(workload, reset_running_requests=tuple(sorted(steps)))
    assert run_workload(reset).outputs == run_workload(workload).outputs


@settings(deadline=None)
@given(engines(), REQUESTS)
def test_blocks_are_conserved_and_none_is_left_behind(
    engine: dict[str, Any], requests: list[dict[str, Any]]
) -> None:
    trace = run_workload(parse(engine, requests), free_order=True)
    usable = engine["num_gpu_blocks"] - 1
    tables: dict[str, list[int]] = {}
    for step in trace.steps:
        for request_id in step.preempted_request_ids:
            del tables[request_id]
        tables |= {request_id: list(blocks) for request_id, blocks in step.block_ids.items()}
        for request_id, blocks in step.new_block_ids.items():
            tables[request_id] += blocks
        for request_id in step.finished:
            del tables[request_id]
        assert step.free_block_ids is not None
        held = {block for blocks in tables.values() for block in blocks}
        assert sorted([*held, *step.free_block_ids]) == list(range(1, usable + 1))
    assert trace.steps[-1].num_free_blocks == usable


class EvictsNothing(BlockPool):
    """Finds blocks under the hash of what they once held."""

    def get_new_blocks(self, num_blocks: int) -> list[int]:
        blocks = self._free_block_queue.popleft_n(num_blocks)
        for block in blocks:
            self._ref_cnt[block] = 1
            self._block_hash[block] = None
        return blocks


class FreesTooEarly(KVCacheManager):
    """Gives a block back that is still being written."""

    def allocate_slots(self, request: Any, *args: Any, **options: Any) -> list[int] | None:
        blocks = super().allocate_slots(request, *args, **options)
        if request.num_computed_tokens == 0 and blocks:
            self.block_pool.free_blocks(blocks[:1])
        return blocks


class OneHashForAll(RequestHashes):
    """Takes any first block for any other, any second for any other second."""

    def append(self, token_ids: Sequence[int]) -> None:
        super().append(token_ids)
        self.block_hashes[:] = [bytes([index]) for index in range(len(self.block_hashes))]


@pytest.mark.parametrize(
    "parts",
    [
        Parts(block_pool=EvictsNothing),
        Parts(kv_cache_manager=FreesTooEarly),
        Parts(block_hasher=OneHashForAll),
    ],
    ids=["stale hit", "freed too early", "hash collision"],
)
def test_a_cache_that_lies_changes_the_outputs(parts: Parts) -> None:
    prompts = [own_tokens(0, 9), own_tokens(1, 9), own_tokens(2, 9), own_tokens(0, 9)]
    requests = [
        {"prompt": prompt, "max_tokens": 6, "arrival": 4 * number}
        for number, prompt in enumerate(prompts)
    ]
    limits = {"block_size": 4, "num_gpu_blocks": 9, "max_model_len": 20, "max_num_seqs": 2}
    workload = parse(limits, requests)
    assert run_workload(workload, parts).outputs != run_workload(workload).outputs


# When things happen


def test_arrivals_are_admitted_in_their_own_step_in_file_order() -> None:
    trace = run(
        [
            {"id": "late", "prompt": [1], "max_tokens": 1, "arrival": 2},
            {"id": "b", "prompt": [2], "max_tokens": 1},
            {"id": "a", "prompt": [3], "max_tokens": 1},
        ]
    )
    assert [step.new_request_ids for step in trace.steps] == [["b", "a"], [], ["late"], []]


def test_the_last_step_hands_out_the_ids_that_finished() -> None:
    trace = run([{"id": "a", "prompt": [1, 2], "max_tokens": 1}])
    assert [step.finished_request_ids for step in trace.steps] == [[], ["a"]]
    assert trace.steps[0].finished == {"a": ["length", None]}
    assert trace.complete


def test_an_engine_with_nothing_to_do_takes_no_step() -> None:
    assert run([]).steps == []


def test_an_abort_before_a_step_leaves_the_request_out_of_it() -> None:
    trace = run([{"id": "a", "prompt": [1], "max_tokens": 9, "abort": 2}])
    assert [list(step.num_scheduled_tokens) for step in trace.steps] == [["a"], ["a"], []]
    assert len(trace.outputs["a"]) == 2
    assert trace.steps[2].finished_request_ids == ["a"]


def test_an_abort_after_the_schedule_drops_the_tokens_of_that_step() -> None:
    abort = {"step": 2, "when": "after_schedule"}
    trace = run([{"id": "a", "prompt": [1], "max_tokens": 9, "abort": abort}])
    assert [list(step.num_scheduled_tokens) for step in trace.steps] == [["a"]] * 3 + [[]]
    assert len(trace.outputs["a"]) == 2
    assert trace.steps[2].sampled_token_ids == {}
    assert trace.steps[2].num_free_blocks == 63


def test_a_reset_forgets_what_was_cached_unless_somebody_runs() -> None:
    def hits(reset: list[int]) -> int:
        prompt = own_tokens(0, 9)
        requests = [
            {"id": "a", "prompt": prompt, "max_tokens": 2},
            {"id": "b", "prompt": prompt, "max_tokens": 2, "arrival": 4},
        ]
        limits = {"block_size": 4}
        trace = run(requests, engine=limits, model={"vocab_size": 3000}, reset_prefix_cache=reset)
        return sum(step.prefix_cache_hits for step in trace.steps)

    assert hits([]) == hits([1]) == 8
    assert hits([3]) == 0


def test_a_request_waits_for_its_grammar() -> None:
    trace = run(
        [
            {"id": "a", "prompt": [1], "max_tokens": 1, "grammar": 2},
            {"id": "b", "prompt": [2], "max_tokens": 1, "grammar": {"step": 1, "compiles": False}},
            {"id": "c", "prompt": [3], "max_tokens": 1},
        ]
    )
    assert [step.new_request_ids for step in trace.steps] == [["c"], [], ["a"], []]
    assert trace.steps[0].waiting == ["a", "b"]
    assert trace.steps[1].finished == {"b": ["error", None]}


def test_a_run_that_never_ends_is_cut_and_says_so() -> None:
    limits = {"block_size": 4, "num_gpu_blocks": 3, "max_model_len": 64}
    trace = run([{"id": "a", "prompt": [1] * 9, "max_tokens": 2}], engine=limits, max_steps=5)
    assert len(trace.steps) == 5
    assert not trace.complete


def test_ended_too_early_to_stop_is_kept_by_min_tokens() -> None:
    request = {"id": "a", "prompt": [1], "max_tokens": 12, "stop_token_ids": [0, 1, 2]}
    model = {"vocab_size": 4}
    assert len(run([request], model=model).outputs["a"]) < 8
    assert len(run([request | {"min_tokens": 8}], model=model).outputs["a"]) >= 8


def test_parts_stand_in_for_the_engines_own() -> None:
    made: list[str] = []

    def hasher(*arguments: Any) -> RequestHashes:
        made.append(arguments[0])
        return RequestHashes(*arguments)

    workload = parse({}, [{"prompt": [1, 2], "max_tokens": 2}])
    parts = replace(Parts(), block_hasher=hasher)
    assert run_workload(workload, parts) == run_workload(workload)
    assert made == ["sha256"]


def test_an_engine_can_be_stepped() -> None:
    engine = Engine(parse({}, [{"prompt": [1, 2], "max_tokens": 2}]))
    steps = []
    while not engine.done:
        steps.append(engine.step())
    assert steps == run_workload(engine.workload).steps
