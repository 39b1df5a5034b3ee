"""Who gets how many tokens, who is preempted, and what becomes of the tokens that come back."""

from dataclasses import replace

import pytest
from engine_kit import ids, make_request, make_scheduler, own_tokens, step
from hypothesis import given
from hypothesis import strategies as st

from reference.output import FinishReason
from reference.request import RequestStatus, StructuredOutputRequest
from reference.scheduler import Scheduler


def add(scheduler: Scheduler, lengths: list[int], **options: int) -> None:
    """Adds requests r0, r1... with prompts of these lengths and tokens of their own."""
    for number, length in enumerate(lengths):
        request = make_request(f"r{number}", own_tokens(number, length), **options)
        scheduler.add_request(request)


def scheduled(scheduler: Scheduler, steps: int) -> list[dict[str, int]]:
    return [step(scheduler).num_scheduled_tokens for _ in range(steps)]


# The token budget


def test_running_requests_come_first_and_the_rest_goes_to_the_next_in_line() -> None:
    scheduler = make_scheduler(max_num_seqs=3, max_num_batched_tokens=32)
    add(scheduler, [10, 50, 5, 7], max_tokens=4)
    steps = scheduled(scheduler, 5)
    assert steps[0] == {"r0": 10, "r1": 22}
    assert steps[1] == {"r0": 1, "r1": 28, "r2": 3}
    assert list(steps[4]) == ["r1", "r2", "r3"]
    assert steps[4]["r3"] == 7


def test_a_long_prefill_takes_no_more_than_the_threshold_in_any_step() -> None:
    scheduler = make_scheduler(
        max_num_seqs=4, max_num_batched_tokens=32, long_prefill_token_threshold=8
    )
    add(scheduler, [10, 50, 5, 7, 20])
    first, second = scheduled(scheduler, 2)
    assert first == {"r0": 8, "r1": 8, "r2": 5, "r3": 7}
    assert second == {"r0": 2, "r1": 8, "r2": 1, "r3": 1}


def test_a_prompt_as_long_as_the_threshold_is_not_cut() -> None:
    scheduler = make_scheduler(long_prefill_token_threshold=8)
    add(scheduler, [8])
    assert scheduled(scheduler, 1) == [{"r0": 8}]


def test_without_chunking_a_prompt_that_does_not_fit_holds_up_all_behind_it() -> None:
    scheduler = make_scheduler(
        max_model_len=64, max_num_batched_tokens=64, enable_chunked_prefill=False
    )
    add(scheduler, [40, 30, 5])
    assert scheduled(scheduler, 1) == [{"r0": 40}]


def test_the_smaller_of_both_token_limits_counts() -> None:
    scheduler = make_scheduler(max_num_scheduled_tokens=20, max_num_batched_tokens=32)
    add(scheduler, [50])
    assert scheduled(scheduler, 1) == [{"r0": 20}]


def test_no_more_requests_run_than_there_are_seats() -> None:
    scheduler = make_scheduler(max_num_seqs=2)
    add(scheduler, [3, 3, 3])
    assert list(scheduled(scheduler, 1)[0]) == ["r0", "r1"]


def test_a_request_id_can_be_used_once_at_a_time() -> None:
    scheduler = make_scheduler()
    add(scheduler, [3])
    with pytest.raises(ValueError, match="'r0' is in use"):
        add(scheduler, [3])


# Drafts


def test_drafts_beyond_the_budget_are_dropped() -> None:
    scheduler = make_scheduler(max_num_scheduled_tokens=6)
    add(scheduler, [3, 3])
    step(scheduler)
    scheduler.update_draft_token_ids({"r0": [1, 2, 3], "r1": [4, 5, 6], "gone": [1]})
    output = scheduler.schedule()
    assert output.num_scheduled_tokens == {"r0": 4, "r1": 2}
    assert output.scheduled_spec_decode_tokens == {"r0": [1, 2, 3], "r1": [4]}


def test_drafts_end_before_the_longest_sequence() -> None:
    scheduler = make_scheduler(max_model_len=20)
    add(scheduler, [17])
    step(scheduler)
    scheduler.update_draft_token_ids({"r0": [1, 2, 3, 4, 5]})
    output = scheduler.schedule()
    assert output.num_scheduled_tokens == {"r0": 2}
    assert output.scheduled_spec_decode_tokens == {"r0": [1]}


def test_a_prefill_chunk_takes_no_drafts() -> None:
    scheduler = make_scheduler(max_num_batched_tokens=128, long_prefill_token_threshold=4)
    add(scheduler, [8])
    step(scheduler)
    scheduler.update_draft_token_ids({"r0": [1, 2]})
    assert scheduler.schedule().scheduled_spec_decode_tokens == {}


def test_rejected_drafts_are_computed_again() -> None:
    scheduler = make_scheduler()
    add(scheduler, [4])
    step(scheduler)
    scheduler.update_draft_token_ids({"r0": [11, 12, 13]})
    output = scheduler.schedule()
    request = scheduler.requests["r0"]
    assert request.num_computed_tokens == 8
    scheduler.update_from_output(output, {"r0": [11, 40]})
    assert (request.num_computed_tokens, request.num_tokens) == (6, 7)


# Preemption


def tight(policy: str = "fcfs", **limits: object) -> Scheduler:
    """Nine usable blocks of four tokens."""
    return make_scheduler(num_gpu_blocks=10, max_model_len=36, policy=policy, **limits)


def test_room_for_a_whole_prompt_is_asked_for_but_not_set_aside() -> None:
    scheduler = tight(long_prefill_token_threshold=8, max_num_batched_tokens=128)
    add(scheduler, [24, 24])
    outputs = [step(scheduler) for _ in range(7)]
    assert list(outputs[0].num_scheduled_tokens) == ["r0", "r1"]
    assert outputs[2].preempted_req_ids == {"r1"}
    assert all("r1" not in output.num_scheduled_tokens for output in outputs[2:6])


def test_the_victim_is_the_last_that_came_and_goes_to_the_front_of_the_waiting() -> None:
    scheduler = tight(max_num_seqs=3)
    add(scheduler, [12, 12, 12, 1])
    step(scheduler)
    output = scheduler.schedule()
    assert output.preempted_req_ids == {"r2"}
    assert output.num_scheduled_tokens == {"r0": 1, "r1": 1}
    assert scheduler.waiting_queues.request_ids() == ["r2", "r3"]
    assert scheduler.requests["r2"].num_computed_tokens == 0


def test_a_step_with_a_preemption_admits_nobody() -> None:
    scheduler = tight("priority", max_num_seqs=3)
    for number in range(3):
        prompt = own_tokens(number, 12)
        scheduler.add_request(make_request(f"r{number}", prompt, priority=5, arrival_time=number))
    step(scheduler)
    scheduler.add_request(make_request("urgent", 3, priority=0))
    assert step(scheduler).scheduled_new_reqs == []
    assert step(scheduler).scheduled_new_reqs == ["urgent"]


def one_after_another(scheduler: Scheduler, requests: list[tuple[str, int, int]]) -> None:
    """Admits requests in consecutive steps: name, prompt length and priority of each."""
    for number, (name, length, priority) in enumerate(requests):
        prompt = own_tokens(number, length)
        scheduler.add_request(make_request(name, prompt, priority=priority))
        step(scheduler)
    assert ids(scheduler.running) == [name for name, _, _ in requests]
    assert scheduler.kv_cache_manager.free_order() == []


def test_priority_takes_tokens_back_from_a_victim_already_served() -> None:
    scheduler = tight("priority")
    # Each holds three blocks now; lo and c have room in theirs, hi needs another.
    one_after_another(scheduler, [("lo", 9, 9), ("hi", 11, 0), ("c", 9, 1)])
    scheduler.config = replace(scheduler.config, max_num_scheduled_tokens=2)
    output = scheduler.schedule()
    assert output.preempted_req_ids == {"lo"}
    assert output.num_scheduled_tokens == {"hi": 1, "c": 1}
    assert list(output.num_computed_tokens) == ["hi", "c"]


def test_among_equals_the_first_in_running_order_is_preempted() -> None:
    scheduler = tight("priority")
    add(scheduler, [12, 12, 12])
    step(scheduler)
    assert scheduler.schedule().preempted_req_ids == {"r0"}


def test_a_request_that_preempts_itself_ends_the_step_for_all_behind_it() -> None:
    scheduler = tight("priority")
    one_after_another(scheduler, [("lo", 10, 9), ("x", 10, 1), ("y", 9, 1)])
    output = scheduler.schedule()
    assert output.preempted_req_ids == {"lo"}
    assert output.num_scheduled_tokens == {}


def test_a_resumed_request_computes_its_outputs_again_and_keeps_them() -> None:
    scheduler = tight(enable_prefix_caching=False)
    add(scheduler, [12, 20], max_tokens=6)
    step(scheduler)
    request = scheduler.requests["r1"]
    while request.status is not RequestStatus.PREEMPTED:
        step(scheduler)
    before = list(request.output_token_ids)
    while request.status is not RequestStatus.RUNNING:
        output = step(scheduler)
    assert output.scheduled_resumed_reqs == ["r1"]
    assert output.num_scheduled_tokens["r1"] == 20 + len(before)
    assert request.output_token_ids[: len(before)] == before
    assert request.num_preemptions == 1


# What comes back


def test_tokens_after_the_one_that_stops_are_dropped() -> None:
    scheduler = make_scheduler()
    scheduler.add_request(make_request("r0", 4, eos_token_id=40))
    step(scheduler)
    scheduler.update_draft_token_ids({"r0": [11, 40, 13]})
    outputs = scheduler.update_from_output(scheduler.schedule(), {"r0": [11, 40, 13, 14]})
    (output,) = outputs[0].outputs
    assert output.new_token_ids == [11, 40]
    assert output.finish_reason is FinishReason.STOP
    assert output.stop_reason is None


def test_finished_ids_are_handed_out_once_by_the_next_step() -> None:
    scheduler = make_scheduler()
    add(scheduler, [4], max_tokens=1)
    assert step(scheduler).finished_req_ids == set()
    assert not scheduler.has_unfinished_requests()
    assert scheduler.has_requests()
    assert step(scheduler).finished_req_ids == {"r0"}
    assert not scheduler.has_requests()


def test_outputs_go_to_their_clients_in_schedule_order() -> None:
    scheduler = make_scheduler(log_stats=True)
    for number, client in enumerate([1, 0, 1]):
        prompt = own_tokens(number, 4)
        scheduler.add_request(make_request(f"r{number}", prompt, client_index=client, max_tokens=1))
    output = scheduler.schedule()
    outputs = scheduler.update_from_output(output, {f"r{number}": [7] for number in range(3)})
    assert [each.request_id for each in outputs[1].outputs] == ["r0", "r2"]
    assert outputs[1].finished_requests == {"r0", "r2"}
    assert outputs[0].finished_requests == {"r1"}
    assert [client for client in outputs if outputs[client].scheduler_stats] == [1]


def test_counters_come_even_when_nothing_else_does() -> None:
    scheduler = make_scheduler(log_stats=True)
    outputs = scheduler.update_from_output(scheduler.schedule(), {})
    stats = outputs[0].scheduler_stats
    assert stats is not None
    assert stats.num_running_reqs == stats.num_waiting_reqs == 0


def test_an_abort_while_the_model_runs_drops_what_it_samples() -> None:
    scheduler = make_scheduler(num_gpu_blocks=10)
    add(scheduler, [4])
    output = scheduler.schedule()
    scheduler.finish_requests("r0", RequestStatus.FINISHED_ABORTED)
    outputs = scheduler.update_from_output(output, {"r0": [7]})
    assert outputs[0].outputs == []
    assert outputs[0].finished_requests == {"r0"}
    assert scheduler.kv_cache_manager.block_pool.get_num_free_blocks() == 9


def test_requests_can_be_ended_in_every_status() -> None:
    scheduler = tight(max_num_seqs=3)
    add(scheduler, [12, 12, 12, 5])
    blocked = make_request("blocked", 3, structured_output_request=StructuredOutputRequest())
    scheduler.add_request(blocked)
    step(scheduler)
    step(scheduler)
    statuses = {request.status for request in scheduler.requests.values()}
    assert statuses == {
        RequestStatus.RUNNING,
        RequestStatus.PREEMPTED,
        RequestStatus.WAITING,
        RequestStatus.WAITING_FOR_STRUCTURED_OUTPUT_GRAMMAR,
    }
    assert scheduler.finish_requests("unknown", RequestStatus.FINISHED_ABORTED) == []
    ended = scheduler.finish_requests(None, RequestStatus.FINISHED_ABORTED)
    assert len(ended) == 5
    assert all(request.finish_reason is FinishReason.ABORT for request in ended)
    assert not scheduler.has_unfinished_requests()
    assert scheduler.kv_cache_manager.usage == 0.0


# Requests that wait for something besides room


def test_a_blocked_request_holds_nobody_up_and_keeps_its_place() -> None:
    scheduler = make_scheduler(max_num_seqs=2)
    grammars = [StructuredOutputRequest() for _ in range(3)]
    for number, grammar in enumerate(grammars):
        prompt = own_tokens(number, 4)
        request = make_request(
            f"b{number}", prompt, structured_output_request=grammar, max_tokens=1
        )
        scheduler.add_request(request)
    scheduler.add_request(make_request("plain", own_tokens(9, 4), max_tokens=1))
    assert step(scheduler).scheduled_new_reqs == ["plain"]
    assert scheduler.waiting_queues.request_ids() == ["b0", "b1", "b2"]
    grammars[1].grammar = "compiled"
    scheduler.add_request(make_request("later", own_tokens(8, 4), max_tokens=1))
    assert step(scheduler).scheduled_new_reqs == ["b1", "later"]
    assert scheduler.waiting_queues.request_ids() == ["b0", "b2"]


def test_a_grammar_that_fails_ends_its_request_with_an_error() -> None:
    scheduler = make_scheduler()
    grammar = StructuredOutputRequest()
    scheduler.add_request(make_request("bad", 4, structured_output_request=grammar))
    step(scheduler)
    grammar.grammar = ValueError("no grammar")
    outputs = scheduler.update_from_output(scheduler.schedule(), {})
    (output,) = outputs[0].outputs
    assert (output.request_id, output.new_token_ids) == ("bad", [])
    assert output.finish_reason is FinishReason.ERROR
    assert step(scheduler).finished_req_ids == {"bad"}


# Whatever is drawn


@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=8),
    st.integers(1, 6),
    st.integers(0, 10),
    st.integers(6, 40),
)
def test_budgets_hold_and_no_token_is_computed_twice(
    lengths: list[int], seats: int, threshold: int, budget: int
) -> None:
    scheduler = make_scheduler(
        max_num_seqs=seats,
        long_prefill_token_threshold=threshold,
        max_num_batched_tokens=budget,
        enable_prefix_caching=False,
    )
    add(scheduler, lengths, max_tokens=3)
    admitted: list[str] = []
    computed = dict.fromkeys(scheduler.requests, 0)
    for _ in range(sum(lengths) + 4 * len(lengths)):
        output = step(scheduler)
        counts = output.num_scheduled_tokens
        assert sum(counts.values()) <= budget
        assert all(1 <= count <= (threshold or count) for count in counts.values())
        assert len(scheduler.running) <= seats
        assert output.num_computed_tokens == {i: computed[i] for i in counts}
        for request_id, count in counts.items():
            computed[request_id] += count
        admitted += output.scheduled_new_reqs
    assert not scheduler.has_requests()
    assert admitted == sorted(admitted)
    assert list(computed.values()) == [length + 2 for length in lengths]
