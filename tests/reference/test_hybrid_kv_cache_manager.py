"""Block tables of several groups: what each holds, lets go, keeps findable and takes over."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from engine_kit import make_request

from grader.workloads import read_workload
from reference.block_pool import BlockPool
from reference.engine import run_workload
from reference.hybrid_kv_cache_manager import HybridKVCacheManager
from reference.kv_cache_interface import (
    ChunkedLocalAttentionSpec,
    FullAttentionSpec,
    KVCacheSpec,
    SlidingWindowSpec,
)
from reference.request import Request, RequestStatus
from reference.trace import BlockIds, StepRecord, by_group

TRACES = Path(__file__).parents[1] / "traces"
FULL = FullAttentionSpec(4)
WINDOW = SlidingWindowSpec(4, 8)


def make_manager(*specs: KVCacheSpec, num_gpu_blocks: int = 40, **options: Any) -> Any:
    return HybridKVCacheManager(
        BlockPool(num_gpu_blocks), specs or (FULL, WINDOW), 64, 8, **options
    )


def compute(manager: Any, request: Request, *chunks: int) -> list[Any]:
    """Compute a request in chunks, from where it stands."""
    given = []
    for num_tokens in chunks:
        given.append(manager.allocate_slots(request, num_tokens))
        request.num_computed_tokens += num_tokens
    return given


def admit(manager: Any, request: Request) -> tuple[list[list[int]], int]:
    hits, length = manager.get_computed_blocks(request)
    manager.allocate_slots(request, request.num_tokens - length, length, hits)
    request.num_computed_tokens = request.num_tokens
    return manager.get_block_ids(request.request_id), length


def single_group(step: StepRecord) -> StepRecord:
    tables: dict[str, BlockIds] = {i: by_group(ids)[0] for i, ids in step.block_ids.items()}
    new: dict[str, BlockIds] = {i: by_group(ids)[0] for i, ids in step.new_block_ids.items()}
    return replace(step, block_ids=tables, new_block_ids=new)


def ungrouped() -> list[Path]:
    return [path for path in sorted(TRACES.glob("*.yaml")) if not path.stem.startswith("groups_")]


def test_one_group_of_full_attention_is_no_group_at_all() -> None:
    for path in ungrouped():
        workload = read_workload(path)
        if workload.engine.kv_cache_groups is not None:
            continue
        groups = (FullAttentionSpec(workload.engine.block_size),)
        grouped = replace(workload, engine=replace(workload.engine, kv_cache_groups=groups))
        plain, trace = run_workload(workload, None, True), run_workload(grouped, None, True)
        assert [single_group(step) for step in trace.steps] == plain.steps, path.name
        assert trace.outputs == plain.outputs, path.name


def test_each_group_has_a_table_of_its_own() -> None:
    manager = make_manager()
    assert compute(manager, make_request("a", 24), 8, 8) == [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
    assert manager.get_block_ids("a") == [[1, 2, 5, 6], [3, 4, 7, 8]]


def test_a_window_lets_go_of_what_it_has_passed_before_new_blocks_are_taken() -> None:
    manager = make_manager()
    new_blocks = compute(manager, make_request("a", 24), 8, 8, 8)
    assert new_blocks[-1] == [[4, 3], [9, 10]]
    assert manager.get_block_ids("a") == [[1, 2, 5, 6, 4, 3], [0, 0, 7, 8, 9, 10]]


def test_a_chunk_goes_when_it_is_over() -> None:
    manager = make_manager(FULL, ChunkedLocalAttentionSpec(4, 8), enable_caching=False)
    request = make_request("a", 24)
    compute(manager, request, 7, 1)
    assert manager.get_block_ids("a")[1] == [3, 4]
    compute(manager, request, 4)
    assert manager.get_block_ids("a")[1][:2] == [0, 0]


def test_what_the_model_still_reads_is_not_let_go() -> None:
    manager, request = make_manager(), make_request("a", 24)
    compute(manager, request, 8, 8)
    request.num_in_flight_tokens = 8
    compute(manager, request, 8)
    assert manager.get_block_ids("a")[1][:4] == [3, 4, 7, 8]


def test_a_refusal_frees_what_was_passed_and_changes_nothing_else() -> None:
    manager, request = make_manager(num_gpu_blocks=11), make_request("a", 32)
    compute(manager, request, 8, 8)
    assert manager.allocate_slots(request, 16) is None
    assert manager.get_block_ids("a") == [[1, 2, 5, 6], [0, 0, 7, 8]]
    assert manager.block_pool.get_num_free_blocks() == 4


def test_new_blocks_of_no_group_are_none() -> None:
    manager, request = make_manager(), make_request("a", 24)
    assert compute(manager, request, 6, 2) == [[[1, 2], [3, 4]], []]
    with pytest.raises(ValueError, match="at least 1"):
        manager.allocate_slots(request, 0)


def test_admission_asks_for_no_more_than_a_window_can_hold() -> None:
    manager = make_manager(num_gpu_blocks=18)
    request = make_request("a", 48)
    # Twelve blocks of full attention, and ceil((8 - 1 + 8) / 4) + 1 of the window.
    assert manager.allocate_slots(request, 8, full_sequence_must_fit=True) is not None
    tight = make_manager(num_gpu_blocks=17)
    assert tight.allocate_slots(make_request("a", 48), 8, full_sequence_must_fit=True) is None


def test_the_watermark_is_for_newcomers_beside_others() -> None:
    manager = make_manager(num_gpu_blocks=10, watermark=0.5)
    request = make_request("a", 12)
    assert manager.allocate_slots(request, 12, has_scheduled_reqs=True) is None
    request.status = RequestStatus.RUNNING
    assert manager.allocate_slots(request, 12, has_scheduled_reqs=True) is not None


def test_a_resend_takes_over_all_of_one_group_and_the_end_of_the_other() -> None:
    manager = make_manager()
    compute(manager, make_request("a", 24), 24)
    tables, length = admit(manager, make_request("b", 24))
    assert length == 20
    assert tables[0][:5] == [1, 2, 3, 4, 5]
    assert tables[1][:5] == [0, 0, 0, 10, 11]
    assert manager.block_pool.ref_cnt(10) == 2
    assert manager.block_pool.ref_cnt(9) == 1


def test_hits_leave_the_free_list_in_all_groups_before_any_block_is_taken() -> None:
    manager = make_manager(num_gpu_blocks=15)
    compute(manager, make_request("a", 24), 24)
    manager.free("a")
    tables, length = admit(manager, make_request("b", 24))
    assert length == 20
    held = [block for table in tables for block in table if block]
    assert len(held) == len(set(held))


def test_a_hit_that_the_window_does_not_need_stays_in_the_free_list() -> None:
    manager = make_manager(retention_interval=None)
    compute(manager, make_request("a", 24), 24)
    manager.free("a")
    admit(manager, make_request("b", 24))
    assert {7, 8, 9} <= set(manager.free_order())


def test_where_prompts_part_is_found_by_the_second_and_used_by_the_third() -> None:
    manager = make_manager()
    lengths = []
    for number in range(4):
        own = [1000 * number + i for i in range(12)]
        request = make_request(str(number), [*range(100, 114), *own])
        lengths.append(admit(manager, request)[1])
    assert lengths == [0, 0, 12, 12]


def test_kept_densely_a_prefix_is_found_at_once() -> None:
    manager = make_manager(retention_interval=None)
    for number, hit in enumerate([0, 12, 12]):
        own = [1000 * number + i for i in range(12)]
        request = make_request(str(number), [*range(100, 114), *own])
        assert admit(manager, request)[1] == hit


def test_caching_can_be_put_off() -> None:
    manager = make_manager()
    request = make_request("a", 24)
    manager.allocate_slots(request, 24, delay_cache_blocks=True)
    assert manager.get_computed_blocks(make_request("b", 24)) == ([], 0)
    manager.cache_blocks(request, 24)
    assert manager.get_computed_blocks(make_request("b", 24))[1] == 20


def test_groups_are_given_back_one_after_the_other_from_their_ends() -> None:
    manager = make_manager(enable_caching=False)
    compute(manager, make_request("a", 8), 8)
    manager.free("a")
    manager.free("a")
    assert manager.free_order()[:4] == [4, 3, 2, 1]
    assert manager.get_block_ids("a") == [[], []]


def test_only_full_attention_has_a_common_prefix() -> None:
    manager = make_manager()
    compute(manager, make_request("a", 24), 24)
    admit(manager, make_request("b", 24))
    assert manager.get_num_common_prefix_blocks("b") == [5, 0]
    assert make_manager(enable_caching=False).get_num_common_prefix_blocks("b") == [0, 0]


def test_without_caching_nothing_is_looked_up() -> None:
    manager = make_manager(enable_caching=False)
    compute(manager, make_request("a", 24), 24)
    assert manager.get_computed_blocks(make_request("b", 24)) == ([], 0)
