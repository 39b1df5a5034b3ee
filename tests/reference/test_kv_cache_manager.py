"""Block tables: hits, room, caching and freeing."""

from typing import Any

import pytest
from engine_kit import make_request, own_tokens
from hypothesis import given
from hypothesis import strategies as st

from reference.block_pool import BlockPool
from reference.kv_cache_manager import KVCacheManager
from reference.request import Request, RequestStatus


def make_manager(num_usable_blocks: int = 20, **options: Any) -> KVCacheManager:
    settings: dict[str, Any] = {"block_size": 4, "max_model_len": 64} | options
    return KVCacheManager(BlockPool(num_usable_blocks + 1), **settings)


def admit(manager: KVCacheManager, request: Request, **options: bool) -> list[int] | None:
    """Admits a request with all its tokens, as the scheduler does."""
    hits, num_hits = manager.get_computed_blocks(request)
    blocks = manager.allocate_slots(
        request, request.num_tokens - num_hits, num_hits, hits, **options
    )
    if blocks is not None:
        manager.record_prefix_cache_stats(request, num_hits)
        request.num_computed_tokens = request.num_tokens
        request.status = RequestStatus.RUNNING
    return blocks


@pytest.mark.parametrize(("length", "hit"), [(12, 8), (13, 12), (4, 0), (5, 4), (100, 12)])
def test_a_hit_leaves_at_least_the_last_token_to_compute(length: int, hit: int) -> None:
    manager = make_manager(40, max_model_len=128)
    admit(manager, make_request("a", 12))
    tokens = make_request("a", 12).all_token_ids + own_tokens(9, 100)
    blocks, num_tokens = manager.get_computed_blocks(make_request("b", tokens[:length]))
    assert num_tokens == hit
    assert blocks == list(range(1, hit // 4 + 1))


def test_a_twin_of_the_same_step_hits_already_and_both_are_counted() -> None:
    manager = make_manager()
    admit(manager, make_request("a", 12))
    admit(manager, make_request("b", 12))
    stats = manager.make_prefix_cache_stats()
    assert (stats.requests, stats.queries, stats.hits) == (2, 24, 8)
    assert manager.make_prefix_cache_stats().queries == 0


def test_preempted_requests_are_counted_apart() -> None:
    manager = make_manager()
    request = make_request("a", 12)
    request.num_preemptions = 1
    admit(manager, request)
    stats = manager.make_prefix_cache_stats()
    assert (stats.queries, stats.preempted_requests, stats.preempted_queries) == (0, 1, 12)


def test_prompt_logprobs_read_no_cache_and_count_for_nothing() -> None:
    manager = make_manager()
    admit(manager, make_request("a", 12))
    manager.make_prefix_cache_stats()
    request = make_request("b", 12, prompt_logprobs=True)
    assert manager.get_computed_blocks(request) == ([], 0)
    admit(manager, request)
    assert manager.make_prefix_cache_stats().queries == 0


def test_hits_that_nobody_holds_take_room_too() -> None:
    manager = make_manager(4)
    prompt = make_request("g", 6)
    admit(manager, prompt)
    manager.free("g")
    manager.block_pool.get_new_blocks(3)
    request = make_request("h", 6)
    hits, num_hits = manager.get_computed_blocks(request)
    assert (hits, num_hits) == ([1], 4)
    before = manager.free_order()
    assert manager.allocate_slots(request, 2, num_hits, hits) is None
    assert manager.free_order() == before
    assert manager.get_block_ids("h") == []


def test_hits_are_touched_before_new_blocks_are_taken() -> None:
    manager = make_manager(5)
    admit(manager, make_request("a", 4))
    manager.block_pool.get_new_blocks(4)
    manager.free("a")
    manager.block_pool.free_blocks([5])
    manager.block_pool.touch([5])
    manager.block_pool.free_blocks([5])
    # Block 1, the hit, would be next but for the touch.
    manager.block_pool.get_new_blocks(1)
    assert manager.free_order() == [1]
    manager.block_pool.free_blocks([5])
    request = make_request("b", 6)
    hits, num_hits = manager.get_computed_blocks(request)
    assert manager.allocate_slots(request, 2, num_hits, hits) == [5]
    assert manager.get_block_ids("b") == [1, 5]


def test_nothing_can_be_asked_for() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        make_manager().allocate_slots(make_request(), 0)


def test_the_whole_sequence_must_fit_when_asked() -> None:
    manager = make_manager(4)
    request = make_request("a", 20)
    assert manager.allocate_slots(request, 4, full_sequence_must_fit=True) is None
    assert manager.allocate_slots(request, 4) == [1]


def test_the_watermark_binds_admissions_beside_others_alone() -> None:
    def blocks(waiting: bool, others: bool) -> list[int] | None:
        manager = make_manager(10, watermark=0.5)
        request = make_request("a", 24)
        request.status = RequestStatus.WAITING if waiting else RequestStatus.RUNNING
        return manager.allocate_slots(request, 24, has_scheduled_reqs=others)

    assert blocks(waiting=True, others=True) is None
    assert blocks(waiting=True, others=False) is not None
    assert blocks(waiting=False, others=True) is not None


def test_drafts_get_slots_but_are_never_cached() -> None:
    manager = make_manager()
    request = make_request("a", 6)
    assert manager.allocate_slots(request, 10, num_lookahead_tokens=2) == [1, 2, 3]
    assert manager.block_pool.block_hash(1) is not None
    assert manager.block_pool.block_hash(2) is None


def test_slots_end_at_the_longest_sequence() -> None:
    manager = make_manager(max_model_len=8)
    assert manager.allocate_slots(make_request("a", 7), 7, num_lookahead_tokens=9) == [1, 2]


def test_caching_can_be_left_for_later() -> None:
    manager = make_manager()
    request = make_request("a", 8)
    manager.allocate_slots(request, 8, delay_cache_blocks=True)
    assert manager.get_computed_blocks(make_request("b", 9)) == ([], 0)
    manager.cache_blocks(request, 7)
    assert manager.get_computed_blocks(make_request("b", 9)) == ([1], 4)


def test_freeing_puts_the_tail_of_a_chain_first_and_twice_is_once() -> None:
    manager = make_manager(4)
    admit(manager, make_request("a", 12))
    manager.free("a")
    manager.free("a")
    manager.free("never came")
    assert manager.free_order() == [4, 3, 2, 1]


def test_common_prefix_blocks_are_those_that_everybody_holds() -> None:
    manager = make_manager()
    admit(manager, make_request("a", 12))
    assert manager.get_num_common_prefix_blocks("a") == 3
    admit(manager, make_request("b", 12))
    assert manager.get_num_common_prefix_blocks("a") == 2
    admit(manager, make_request("c", own_tokens(3, 5)))
    assert manager.get_num_common_prefix_blocks("a") == 0
    assert make_manager(enable_caching=False).get_num_common_prefix_blocks("a") == 0


def test_a_reset_is_told_in_the_counters() -> None:
    manager = make_manager()
    admit(manager, make_request("a", 12))
    assert not manager.reset_prefix_cache()
    manager.free("a")
    assert manager.reset_prefix_cache()
    assert manager.make_prefix_cache_stats().reset


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 20)), min_size=1, max_size=8), st.data()
)
def test_what_is_hit_was_written_for_the_same_tokens(
    prompts: list[tuple[int, int]], data: st.DataObject
) -> None:
    manager = make_manager(12)
    written: dict[int, tuple[int, ...]] = {}
    live: list[Request] = []
    for number, (family, length) in enumerate(prompts):
        if live and data.draw(st.booleans()):
            manager.free(live.pop(data.draw(st.integers(0, len(live) - 1))).request_id)
        request = make_request(str(number), own_tokens(family, length))
        hits, num_hits = manager.get_computed_blocks(request)
        assert num_hits == 4 * len(hits) < length
        for index, block in enumerate(hits):
            assert written[block] == tuple(request.all_token_ids[: 4 * (index + 1)])
        if admit(manager, request) is None:
            continue
        live.append(request)
        for index, block in enumerate(manager.get_block_ids(request.request_id)):
            written[block] = tuple(request.all_token_ids[: 4 * (index + 1)])
