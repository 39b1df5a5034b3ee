"""Deciding a step before the outputs of the one before it are there."""

from collections import deque
from typing import Any

import pytest
from engine_kit import ids, make_request, own_tokens, run

from reference.async_scheduler import AsyncScheduler
from reference.block_pool import BlockPool
from reference.config import EngineConfig
from reference.kv_cache_manager import KVCacheManager
from reference.output import SchedulerOutput
from reference.request import Request, RequestStatus

BLOCK_SIZE = 4


class Drive:
    """An async scheduler with steps in flight; the model says 7 until it is told otherwise."""

    def __init__(self, **limits: Any) -> None:
        ample = {"block_size": BLOCK_SIZE, "num_gpu_blocks": 1000, "max_model_len": 256}
        config = EngineConfig(**(ample | {"async_scheduling": True} | limits))
        pool = BlockPool(config.num_gpu_blocks)
        manager = KVCacheManager(pool, BLOCK_SIZE, config.max_model_len)
        self.pool = pool
        self.scheduler = AsyncScheduler(config, manager)
        self.in_flight: deque[tuple[SchedulerOutput, list[str]]] = deque()

    def add(self, request_id: str, prompt: int, **options: Any) -> Request:
        request = make_request(request_id, own_tokens(len(request_id), prompt), 4, **options)
        self.scheduler.add_request(request)
        return request

    def schedule(self) -> dict[str, int]:
        output = self.scheduler.schedule()
        scheduled = output.num_scheduled_tokens
        ready = [i for i in scheduled if not self.scheduler.requests[i].is_prefill_chunk]
        self.in_flight.append((output, ready))
        return scheduled

    def land(self, *tokens: int) -> dict[str, list[int]]:
        output, ready = self.in_flight.popleft()
        sampled = {request_id: list(tokens) or [7] for request_id in ready}
        clients = self.scheduler.update_from_output(output, sampled)
        return {
            o.request_id: o.new_token_ids for client in clients.values() for o in client.outputs
        }

    def preempt(self, request: Request, drop: bool = False) -> None:
        self.scheduler.running.remove(request)
        self.scheduler._preempt_request(request, drop_stale_output=drop)


def counts(request: Request) -> tuple[int, int, int]:
    """Computed tokens, placeholders, tokens in flight."""
    return (
        request.num_computed_tokens,
        request.num_output_placeholders,
        request.num_in_flight_tokens,
    )


def test_a_decode_is_scheduled_before_its_token_is_known() -> None:
    drive = Drive()
    request = drive.add("a", 5, max_tokens=9)
    assert drive.schedule() == {"a": 5}
    assert counts(request) == (5, 1, 5)
    assert drive.schedule() == {"a": 1}
    assert counts(request) == (6, 2, 6)
    assert drive.land() == {"a": [7]}
    assert counts(request) == (6, 1, 1)


def test_a_chunk_of_a_prompt_has_no_placeholder() -> None:
    drive = Drive(max_num_batched_tokens=8)
    request = drive.add("a", 19)
    assert [drive.schedule(), drive.schedule()] == [{"a": 8}, {"a": 8}]
    assert counts(request) == (16, 0, 16)
    assert drive.schedule() == {"a": 3}
    assert counts(request) == (19, 1, 19)


def test_the_end_at_max_tokens_is_foreseen_at_depth_two() -> None:
    drive = Drive()
    drive.add("a", 5, max_tokens=3)
    steps = [drive.schedule()]
    for _ in range(3):
        steps.append(drive.schedule())
        drive.land()
    assert steps == [{"a": 5}, {"a": 1}, {"a": 1}, {}]


def test_one_output_alone_is_taken_for_certain_however_many_are_in_flight() -> None:
    drive = Drive()
    drive.add("a", 5, max_tokens=3)
    assert [drive.schedule() for _ in range(6)] == [{"a": 5}] + 5 * [{"a": 1}]


def test_an_end_that_nobody_foresees_costs_a_step_whose_output_is_ignored() -> None:
    drive = Drive()
    drive.add("a", 5, max_tokens=9, eos_token_id=2)
    drive.schedule()
    drive.schedule()
    assert drive.land(2) == {"a": [2]}
    assert drive.land(3) == {}


def test_the_length_of_the_model_is_never_overrun() -> None:
    drive = Drive(max_model_len=8, max_num_batched_tokens=64)
    request = drive.add("a", 5, max_tokens=99)
    assert [drive.schedule() for _ in range(4)] == [{"a": 5}, {"a": 1}, {"a": 1}, {}]
    assert request.num_computed_tokens == 7


def test_room_is_left_for_drafts_that_are_not_known() -> None:
    drive = Drive(num_speculative_tokens=3)
    request = drive.add("a", 5, max_tokens=20)
    drive.schedule()
    assert drive.schedule() == {"a": 4}
    output = drive.in_flight[-1][0]
    assert output.scheduled_spec_decode_tokens == {"a": [-1, -1, -1]}
    assert counts(request) == (9, 5, 9)


def test_rejected_drafts_are_taken_off_both_counts() -> None:
    drive = Drive(num_speculative_tokens=3)
    request = drive.add("a", 5, max_tokens=20)
    drive.schedule()
    drive.schedule()
    drive.land(7)
    assert counts(request) == (9, 4, 4)
    drive.land(11, 40)
    assert counts(request) == (7, 0, 0)
    assert request.num_tokens == 8


def test_a_block_is_cached_when_the_output_that_fills_it_is_here() -> None:
    drive = Drive()
    request = drive.add("a", 7, max_tokens=9)
    drive.schedule()
    drive.schedule()
    assert len(request.block_hashes) == 1
    drive.land()
    second = request.block_hashes[1]
    assert drive.pool.get_cached_block(second) is None
    drive.land()
    assert drive.pool.get_cached_block(second) is not None


def test_outputs_that_a_preemption_overtakes_are_delivered_and_touch_no_count() -> None:
    drive = Drive()
    request = drive.add("a", 11, max_tokens=9)
    drive.schedule()
    drive.schedule()
    drive.preempt(request)
    assert request.num_stale_output_tokens == 12
    assert [drive.land(), drive.land()] == [{"a": [7]}, {"a": [7]}]
    assert counts(request) == (0, 0, 0)
    assert request.num_stale_output_tokens == 0
    assert request.num_tokens == 13


def test_a_request_does_not_resume_before_its_outputs_are_here() -> None:
    drive = Drive()
    request = drive.add("a", 11, max_tokens=9)
    drive.schedule()
    drive.preempt(request)
    assert drive.schedule() == {}
    assert ids(drive.scheduler.waiting_queues.skipped_waiting) == ["a"]
    drive.land()
    assert drive.schedule() == {"a": 4}


def test_an_output_may_end_a_request_that_waits() -> None:
    drive = Drive()
    request = drive.add("a", 5, max_tokens=1)
    drive.schedule()
    drive.preempt(request)
    assert drive.land() == {"a": [7]}
    assert request.status is RequestStatus.FINISHED_LENGTH_CAPPED
    assert not drive.scheduler.has_unfinished_requests()


@pytest.mark.parametrize("num_preemptions", [1, 2])
def test_dropped_outputs_leave_no_trace(num_preemptions: int) -> None:
    drive = Drive()
    request = drive.add("a", 11, max_tokens=9)
    drive.schedule()
    for number in range(num_preemptions):
        # Once dropped, always dropped: the second preemption would deliver.
        drive.preempt(request, drop=number == 0)
        assert drive.schedule()["a"] > 0
    for _ in range(num_preemptions):
        assert drive.land(8) == {}
    assert drive.land(9) == {"a": [9]}
    assert request.num_output_tokens == 1


def test_a_reset_under_running_requests_resumes_them_in_the_same_step() -> None:
    drive = Drive()
    drive.add("a", 5)
    drive.add("bb", 5)
    drive.schedule()
    assert drive.scheduler.reset_prefix_cache(reset_running_requests=True)
    assert drive.schedule() == {"a": 5, "bb": 5}


def test_a_step_is_recorded_with_the_outputs_that_belong_to_it() -> None:
    trace = run(
        [{"id": "a", "prompt": own_tokens(0, 5), "max_tokens": 3}],
        engine={"async_scheduling": True},
    )
    assert [step.num_scheduled_tokens for step in trace.steps] == [
        {"a": 5}, {"a": 1}, {"a": 1}, {}, {},
    ]  # fmt: skip
    assert [len(step.sampled_token_ids) for step in trace.steps] == [1, 1, 1, 0, 0]
    assert trace.steps[2].finished == {"a": ["length", None]}
    assert trace.steps[4].finished_request_ids == ["a"]
