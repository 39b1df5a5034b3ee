"""The prefix that all groups can reuse: the longest one, whatever stands in the cache."""

from itertools import permutations
from math import lcm

from hypothesis import given
from hypothesis import strategies as st

from reference.block_pool import NULL_BLOCK_ID, BlockPool
from reference.kv_cache_coordinator import HybridKVCacheCoordinator
from reference.kv_cache_interface import (
    ChunkedLocalAttentionSpec,
    FullAttentionSpec,
    KVCacheSpec,
    SlidingWindowSpec,
)
from reference.kv_cache_utils import make_block_hash_with_group_id, resolve_block_sizes

LONGEST = 24
LAYOUTS: list[list[KVCacheSpec]] = [
    [FullAttentionSpec(2)],
    [SlidingWindowSpec(2, 5)],
    [FullAttentionSpec(2), SlidingWindowSpec(2, 6)],
    [SlidingWindowSpec(1, 3), FullAttentionSpec(2)],
    [FullAttentionSpec(2), SlidingWindowSpec(3, 4)],
    [FullAttentionSpec(2), SlidingWindowSpec(2, 3), SlidingWindowSpec(2, 8)],
    [SlidingWindowSpec(2, 4), SlidingWindowSpec(2, 4), FullAttentionSpec(2), FullAttentionSpec(2)],
    [FullAttentionSpec(1), ChunkedLocalAttentionSpec(2, 6)],
    [FullAttentionSpec(2), SlidingWindowSpec(1, 4), ChunkedLocalAttentionSpec(2, 4)],
]
CACHED = st.lists(st.integers(0, 2**LONGEST - 1), min_size=4, max_size=4)


def hashes(unit: int) -> list[bytes]:
    return [bytes([number]) for number in range(LONGEST // unit)]


def coordinator_of(specs: list[KVCacheSpec], cached: list[int]) -> HybridKVCacheCoordinator:
    """A coordinator over a pool in which each group has the blocks of its bits."""
    unit = resolve_block_sizes([spec.block_size for spec in specs])[1]
    pool = BlockPool(100)
    for group_id, (spec, bits) in enumerate(zip(specs, cached, strict=False)):
        for index in range(LONGEST // spec.block_size):
            if bits >> index & 1:
                scale = spec.block_size // unit
                block_hash = hashes(unit)[(index + 1) * scale - 1]
                key = make_block_hash_with_group_id(block_hash, group_id)
                pool.cache_full_blocks(pool.get_new_blocks(1), [key], 0, 1)
    return HybridKVCacheCoordinator(specs, pool, 64, 64)


def accepts(spec: KVCacheSpec, bits: int, length: int) -> bool:
    """Whether a group has all the blocks that it would read behind a prefix of this length."""
    first = spec.get_num_skipped_tokens(length) // spec.block_size
    return all(bits >> index & 1 for index in range(first, length // spec.block_size))


@given(st.sampled_from(LAYOUTS), CACHED, st.integers(0, LONGEST - 1))
def test_the_hit_is_the_longest_that_every_group_accepts(
    specs: list[KVCacheSpec], cached: list[int], max_length: int
) -> None:
    coordinator = coordinator_of(specs, cached)
    unit = lcm(*(spec.block_size for spec in specs))
    tables, length, _ = coordinator.find_longest_cache_hit(
        hashes(coordinator.hash_block_size), max_length
    )
    fitting = [
        candidate
        for candidate in range(0, max_length + 1, unit)
        if all(accepts(spec, bits, candidate) for spec, bits in zip(specs, cached, strict=False))
    ]
    assert length == max(fitting)
    for spec, table in zip(specs, tables, strict=True):
        assert len(table) == length // spec.block_size
        num_skipped = spec.get_num_skipped_tokens(length) // spec.block_size
        assert [block == NULL_BLOCK_ID for block in table] == [
            index < num_skipped for index in range(len(table))
        ]


@given(CACHED, st.integers(0, LONGEST - 1), st.sampled_from([*permutations(range(3))]))
def test_the_order_of_the_groups_does_not_matter(
    cached: list[int], max_length: int, order: tuple[int, ...]
) -> None:
    specs = LAYOUTS[5]
    one = coordinator_of(specs, cached).find_longest_cache_hit(hashes(2), max_length)
    turned = coordinator_of([specs[i] for i in order], [cached[i] for i in order])
    assert turned.find_longest_cache_hit(hashes(2), max_length)[1:] == one[1:]


def test_what_full_attention_has_more_is_told() -> None:
    specs: list[KVCacheSpec] = [FullAttentionSpec(2), SlidingWindowSpec(2, 3)]
    coordinator = coordinator_of(specs, [0b11111, 0b00110])
    tables, length, num_uncached = coordinator.find_longest_cache_hit(hashes(2), 23)
    assert (length, num_uncached) == (6, 4)
    assert [len(table) for table in tables] == [3, 3]


def test_groups_of_one_spec_are_looked_up_as_one() -> None:
    window = SlidingWindowSpec(2, 3)
    coordinator = coordinator_of([window, window], [0b101, 0b011])
    _, length, num_uncached = coordinator.find_longest_cache_hit(hashes(2), 23)
    assert (length, num_uncached) == (2, 0)
