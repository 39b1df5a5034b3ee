"""The groups of layers in a workload's ``engine``."""

from typing import Any

from reference.config import EngineConfig
from reference.fields import Fields, got
from reference.kv_cache_interface import (
    ChunkedLocalAttentionSpec,
    FullAttentionSpec,
    KVCacheSpec,
    SlidingWindowSpec,
)

#: What a group of each kind says besides ``kind`` and ``block_size``.
SIZE_KEYS: dict[str, tuple[str, ...]] = {
    "full_attention": (),
    "sliding_window": ("sliding_window",),
    "chunked_local_attention": ("attention_chunk_size",),
}


def read_groups(engine: Fields, default: EngineConfig) -> dict[str, Any]:
    """The fields of ``EngineConfig`` that are about groups; raises WorkloadError."""
    groups = None
    if engine.value("kv_cache_groups", None) is not None:
        block_size = engine.integer("block_size", default.block_size, minimum=1)
        groups = tuple(
            _group(data, block_size)
            for data in engine.items(
                "kv_cache_groups", ("kind", "block_size", *sum(SIZE_KEYS.values(), ()))
            )
        )
        if not groups:
            raise engine.error("kv_cache_groups", "got []", "a list of groups, or null")
    interval = default.prefix_cache_retention_interval
    if "prefix_cache_retention_interval" in engine:
        interval = engine.optional_integer("prefix_cache_retention_interval", minimum=0)
    return {"kv_cache_groups": groups, "prefix_cache_retention_interval": interval}


def _group(data: Fields, block_size: int) -> KVCacheSpec:
    kinds = ", ".join(SIZE_KEYS)
    kind = data.text("kind")
    if kind not in SIZE_KEYS:
        raise data.error("kind", got(kind), f"one of {kinds}")
    for of_kind, keys in SIZE_KEYS.items():
        for key in keys:
            if of_kind != kind and key in data:
                raise data.error(key, f"a {kind} group has none", f"it belongs to {of_kind}")
    block_size = data.integer("block_size", block_size, minimum=1)
    if kind == "sliding_window":
        return SlidingWindowSpec(block_size, data.integer("sliding_window", minimum=1))
    if kind == "chunked_local_attention":
        size = data.integer("attention_chunk_size", minimum=1)
        return ChunkedLocalAttentionSpec(block_size, size)
    return FullAttentionSpec(block_size)
