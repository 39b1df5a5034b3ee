"""vLLM's own managers of single groups, coordinator and grouping behind the lesson's functions."""

import sys
from collections.abc import Sequence
from functools import cache
from math import gcd, lcm
from pathlib import Path
from typing import Any

import torch
from vllm.v1.core.block_pool import BlockPool
from vllm.v1.core.kv_cache_coordinator import get_kv_cache_coordinator
from vllm.v1.core.kv_cache_utils import get_kv_cache_groups, make_block_hash_with_group_id
from vllm.v1.core.single_type_kv_cache_manager import get_manager_for_kv_cache_spec
from vllm.v1.kv_cache_interface import (
    ChunkedLocalAttentionSpec,
    FullAttentionSpec,
    KVCacheConfig,
    KVCacheGroupSpec,
    KVCacheSpec,
    MambaSpec,
    SlidingWindowSpec,
)

import grader

ROOT = Path(__file__).parents[3]
sys.path.append(str(ROOT))
grader.__path__.append(str(ROOT / "grader"))

PRELOAD = ("vllm.v1.core.kv_cache_coordinator", "vllm.v1.core.sched.scheduler")

FULL = "full_attention"
WINDOW = "sliding_window"
CHUNK = "chunked_local_attention"
MAMBA = "mamba"

Group = tuple[str, int, int]
Layer = tuple[str, str, int, int, int]

#: Longer than anything that the lesson's functions are asked about.
MAX_MODEL_LEN = 1 << 16


def cdiv(a: int, b: int) -> int:
    return -(-a // b)


def block_table(cached: Sequence[int | None], num_blocks: int, num_needed: int) -> list[int]:
    first = max(0, num_blocks - num_needed)
    return [0] * first + [block or 0 for block in cached[first:num_blocks]]


def get_num_skipped_tokens(kind: str, num_computed_tokens: int, size: int) -> int:
    # How large the blocks are does not matter here.
    manager = _manager(_spec(kind, 1, size), BlockPool(2, True, 1))
    return manager.get_num_skipped_tokens(num_computed_tokens)


def remove_skipped_blocks(
    table: Sequence[int], kind: str, num_computed_tokens: int, block_size: int, size: int
) -> tuple[list[int], list[int]]:
    pool = BlockPool(max(table, default=0) + 1, True, block_size)
    pool.get_new_blocks(pool.get_num_free_blocks())
    manager = _manager(_spec(kind, block_size, size), pool)
    manager.req_to_blocks["r"] = [pool.blocks[block_id] for block_id in table]
    manager.remove_skipped_blocks("r", num_computed_tokens)
    freed = pool.free_block_queue.get_all_free_blocks()
    return _ids(manager.req_to_blocks["r"]), _ids(freed)


def find_longest_cache_hit(
    kind: str,
    cached: Sequence[int | None],
    max_length: int,
    block_size: int,
    size: int,
    alignment_tokens: int,
) -> tuple[list[int], int]:
    spec = _spec(kind, block_size, size)
    pool = BlockPool(_num_blocks([cached]), True, block_size)
    hashes = _hashes(len(cached))
    _fill(pool, 0, cached, hashes)
    (blocks,), length = type(_manager(spec, pool)).find_longest_cache_hit(
        block_hashes=hashes,
        max_length=max_length,
        kv_cache_group_ids=[0],
        block_pool=pool,
        kv_cache_spec=spec,
        drop_eagle_block=False,
        alignment_tokens=alignment_tokens,
    )
    return _ids(blocks), length


def find_longest_common_hit(
    groups: Sequence[Group], cached_per_group: Sequence[Sequence[int | None]], max_length: int
) -> tuple[list[list[int]], int, int]:
    block_sizes = [block_size for _, block_size, _ in groups]
    hash_block_size = gcd(*block_sizes)
    coordinator = get_kv_cache_coordinator(
        kv_cache_config=KVCacheConfig(
            num_blocks=_num_blocks(cached_per_group),
            kv_cache_tensors=[],
            kv_cache_groups=[
                KVCacheGroupSpec([f"layer.{number}"], _spec(*group))
                for number, group in enumerate(groups)
            ],
            prefix_cache_retention_interval=0,
        ),
        max_model_len=MAX_MODEL_LEN,
        max_in_flight_tokens=MAX_MODEL_LEN,
        use_eagle=False,
        enable_caching=True,
        enable_kv_cache_events=False,
        dcp_world_size=1,
        pcp_world_size=1,
        scheduler_block_size=lcm(*block_sizes),
        hash_block_size=hash_block_size,
    )
    hashes = _hashes(max_length // hash_block_size)
    for group_id, (block_size, cached) in enumerate(
        zip(block_sizes, cached_per_group, strict=True)
    ):
        scale = block_size // hash_block_size
        _fill(coordinator.block_pool, group_id, cached, hashes[scale - 1 :: scale])
    tables, length, uncached = coordinator.find_longest_cache_hit(hashes, max_length)
    return [_ids(blocks) for blocks in tables], length, uncached


def reachable_blocks(
    start_block: int,
    end_block: int,
    block_size: int,
    sliding_window: int,
    alignment_tokens: int,
    retention_interval: int | None,
    boundaries: Sequence[int],
) -> list[int]:
    spec = _spec(WINDOW, block_size, sliding_window)
    mask = type(_manager(spec, BlockPool(2, True, block_size))).reachable_block_mask(
        start_block=start_block,
        end_block=end_block,
        alignment_tokens=alignment_tokens,
        kv_cache_spec=spec,
        use_eagle=False,
        retention_interval=retention_interval,
        reachable_boundaries=boundaries,
    )
    blocks = range(start_block, end_block)
    # No mask: every block is reachable.
    return [block for block in blocks if mask is None or mask[block - start_block]]


def group_layers(layers: Sequence[Layer]) -> list[tuple[list[str], int]]:
    specs = {
        name: _spec(kind, block_size, size, page_bytes)
        for name, kind, page_bytes, block_size, size in layers
    }
    groups = get_kv_cache_groups(_vllm_config(), specs)
    return [(list(group.layer_names), group.kv_cache_spec.block_size) for group in groups]


@cache
def _vllm_config() -> Any:
    # Not known before the repository is.
    from grader.adapters import kit

    config = kit.scheduler_of(**kit.PLENTY).vllm_config
    config.cache_config.kv_cache_layout = "LBNHC"
    return config


def _spec(kind: str, block_size: int, size: int, page_bytes: int | None = None) -> KVCacheSpec:
    """vLLM's spec of layers whose blocks take so many bytes."""
    if kind == MAMBA:
        shapes = ((page_bytes or 1,),)
        return MambaSpec(block_size=block_size, shapes=shapes, dtypes=(torch.uint8,))
    # A key and a value of a byte each for each token and head.
    num_kv_heads = 1 if page_bytes is None else page_bytes // (2 * block_size)
    attention = {
        "block_size": block_size,
        "num_kv_heads": num_kv_heads,
        "head_size": 1,
        "dtype": torch.uint8,
    }
    if kind == WINDOW:
        return SlidingWindowSpec(**attention, sliding_window=size)
    if kind == CHUNK:
        return ChunkedLocalAttentionSpec(**attention, attention_chunk_size=size)
    return FullAttentionSpec(**attention)


def _manager(spec: KVCacheSpec, pool: BlockPool) -> Any:
    _vllm_config()  # It registers the managers of all specs.
    return get_manager_for_kv_cache_spec(
        spec,
        max_in_flight_tokens=MAX_MODEL_LEN,
        max_model_len=MAX_MODEL_LEN,
        block_pool=pool,
        enable_caching=True,
        kv_cache_group_id=0,
        scheduler_block_size=spec.block_size,
    )


def _num_blocks(cached_per_group: Sequence[Sequence[int | None]]) -> int:
    return 1 + max((block or 0 for cached in cached_per_group for block in cached), default=0)


def _hashes(count: int) -> list[Any]:
    return [index.to_bytes(4, "big") for index in range(count)]


def _fill(pool: BlockPool, group_id: int, cached: Sequence[int | None], hashes: list[Any]) -> None:
    """Make each block findable under its hash."""
    for block_id, block_hash in zip(cached, hashes, strict=False):
        if block_id is not None:
            key = make_block_hash_with_group_id(block_hash, group_id)
            pool.cached_block_hash_to_block.insert(key, pool.blocks[block_id])


def _ids(blocks: Sequence[Any]) -> list[int]:
    return [block.block_id for block in blocks]
