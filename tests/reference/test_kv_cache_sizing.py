"""The sums at start-up, as a specification: from bytes to blocks, tokens and lengths."""

from collections.abc import Callable

import pytest

from reference.kv_cache_interface import (
    ChunkedLocalAttentionSpec,
    FullAttentionSpec,
    KVCacheSpec,
    SlidingWindowSpec,
)
from reference.kv_cache_sizing import (
    CannotAutoFit,
    KVCacheGroup,
    KVCacheSizing,
    MambaSpec,
    NoAvailableMemory,
    RequestTooLong,
)

GIB = 2**30
PAGE = 65_536
FULL = FullAttentionSpec(block_size=16)


def sizing(*specs: KVCacheSpec, num_layers: int = 32) -> KVCacheSizing:
    """A model with so many like layers in each group, and 2,048 tokens in flight."""
    return KVCacheSizing(tuple(KVCacheGroup(spec, (PAGE,) * num_layers) for spec in specs), 2048)


def test_blocks_are_what_the_memory_is_divided_into() -> None:
    config = sizing(FULL).get_kv_cache_config([10 * GIB], 8192)
    assert config.num_blocks == 5120
    assert config.kv_cache_size_tokens == 81_920
    assert config.max_concurrency == 10.0


def test_tokens_are_those_of_whole_requests() -> None:
    config = sizing(FULL).get_kv_cache_config([10 * GIB], 1000)
    assert config.kv_cache_size_tokens == 81_269  # 63 blocks a request, the last one half full


def test_the_poorest_worker_decides() -> None:
    assert sizing(FULL).get_kv_cache_config([10 * GIB, GIB, 5 * GIB], 1000).num_blocks == 512


def test_groups_lie_over_one_another() -> None:
    window = SlidingWindowSpec(block_size=16, sliding_window=1024)
    uneven = KVCacheSizing((KVCacheGroup(FULL, (1, 1)), KVCacheGroup(window, (1, 1, 1))), 0)
    assert uneven.bytes_per_block == 3


@pytest.mark.parametrize(
    ("spec", "num_blocks"),
    [
        (FULL, 512),
        (SlidingWindowSpec(block_size=16, sliding_window=1024), 193),
        (ChunkedLocalAttentionSpec(block_size=16, attention_chunk_size=1024), 192),
        (MambaSpec(block_size=16), 1),
        (MambaSpec(block_size=16, mamba_cache_mode="align"), 2),
        (MambaSpec(block_size=16, mamba_cache_mode="all"), 512),
    ],
)
def test_a_request_holds_what_its_layers_must_remember(spec: KVCacheSpec, num_blocks: int) -> None:
    assert sizing(spec).blocks_per_request(8192) == num_blocks
    assert sizing(FULL, spec).blocks_per_request(8192) == 512 + num_blocks


def test_the_null_block_holds_no_request() -> None:
    model = sizing(FULL)
    with pytest.raises(RequestTooLong) as refused:
        model.get_kv_cache_config([GIB], 8192)
    assert refused.value.estimated == 8176
    assert refused.value.needed == GIB
    assert refused.value.available == GIB - model.bytes_per_block
    assert model.get_kv_cache_config([GIB + model.bytes_per_block], 8192).num_blocks == 513


def test_auto_fit_takes_the_estimate_and_logs_the_null_block() -> None:
    config = sizing(FULL).get_kv_cache_config([GIB], 8192, auto_fit=True)
    assert (config.num_blocks, config.max_model_len) == (512, 8176)
    assert config.kv_cache_size_tokens == 8192


def test_auto_fit_need_not_end_with_a_block() -> None:
    assert sizing(FULL).get_kv_cache_config([GIB], 1000, auto_fit=True).max_model_len == 1000


def test_an_override_takes_the_place_of_the_memory() -> None:
    model = sizing(FULL)
    assert model.get_kv_cache_config([0], 1600, num_gpu_blocks_override=101).num_blocks == 101
    with pytest.raises(RequestTooLong):
        model.get_kv_cache_config([10 * GIB], 1600, num_gpu_blocks_override=100)


@pytest.mark.parametrize(
    ("memory", "auto_fit", "error"),
    [
        (lambda block: block, False, NoAvailableMemory),
        (lambda block: block + 1, False, RequestTooLong),
        (lambda block: block, True, CannotAutoFit),
    ],
)
def test_nothing_to_speak_of_is_refused(
    memory: Callable[[int], int], auto_fit: bool, error: type[ValueError]
) -> None:
    model = sizing(FULL)
    with pytest.raises(error):
        model.get_kv_cache_config([memory(model.bytes_per_block)], 1000, auto_fit=auto_fit)


def test_the_estimate_of_a_long_model_needs_no_walk() -> None:
    assert sizing(FULL).estimate_max_model_len(10**6 * 32 * PAGE, 10**9) == 16 * 10**6
