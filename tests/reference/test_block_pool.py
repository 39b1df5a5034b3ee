"""The pool of blocks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from reference.block_pool import BlockPool


def test_allocation_takes_blocks_from_the_head_and_never_the_null_block() -> None:
    pool = BlockPool(8)
    assert pool.get_new_blocks(3) == [1, 2, 3]
    assert pool.get_new_blocks(0) == []
    assert pool.get_new_blocks(4) == [4, 5, 6, 7]
    with pytest.raises(ValueError, match="cannot take 1 blocks"):
        pool.get_new_blocks(1)


def test_blocks_without_a_hash_go_to_the_head_and_others_to_the_tail() -> None:
    pool = BlockPool(8)
    blocks = pool.get_new_blocks(5)
    pool.cache_full_blocks(blocks, [b"a", b"b", b"c"], 0, 3)
    pool.free_blocks(blocks[::-1])
    assert pool.free_order() == [5, 4, 6, 7, 3, 2, 1]


def test_a_block_is_forgotten_when_it_is_handed_out_not_when_it_is_freed() -> None:
    pool = BlockPool(3)
    blocks = pool.get_new_blocks(2)
    pool.cache_full_blocks(blocks, [b"a", b"b"], 0, 2)
    pool.free_blocks(blocks[::-1])
    assert pool.get_cached_block(b"b") == 2
    assert pool.get_new_blocks(1) == [2]
    assert pool.get_cached_block(b"b") is None
    assert pool.get_cached_block(b"a") == 1


def test_touching_a_free_block_takes_it_off_the_list() -> None:
    pool = BlockPool(4)
    pool.cache_full_blocks(pool.get_new_blocks(1), [b"a"], 0, 1)
    pool.free_blocks([1])
    pool.touch([1])
    assert pool.free_order() == [2, 3]
    pool.touch([1])
    pool.free_blocks([1])
    assert pool.ref_cnt(1) == 1
    pool.free_blocks([1])
    assert pool.free_order() == [2, 3, 1]


def test_the_oldest_copy_of_a_content_is_found_and_losing_one_leaves_the_others() -> None:
    pool = BlockPool(10)
    first, second = pool.get_new_blocks(2), pool.get_new_blocks(2)
    for blocks in (first, second):
        pool.cache_full_blocks(blocks, [b"a", b"b"], 0, 2)
    pool.free_blocks(second[::-1])
    pool.free_blocks(first[::-1])
    assert pool.free_order() == [5, 6, 7, 8, 9, 4, 3, 2, 1]
    pool.get_new_blocks(7)
    assert pool.get_cached_block(b"a") == 1
    pool.evict_blocks([1])
    assert pool.get_cached_block(b"a") is None


def test_the_null_block_is_neither_counted_nor_freed_nor_cached() -> None:
    pool = BlockPool(4)
    pool.touch([0])
    pool.free_blocks([0])
    pool.cache_full_blocks([0], [b"a"], 0, 1)
    assert pool.free_order() == [1, 2, 3]
    assert pool.get_cached_block(b"a") is None


def test_usage_leaves_the_null_block_out() -> None:
    pool = BlockPool(8)
    pool.get_new_blocks(5)
    assert pool.get_usage() == pytest.approx(5 / 7)
    assert BlockPool(1).get_usage() == 0.0


def test_the_prefix_cache_is_reset_only_when_no_block_has_a_user() -> None:
    pool = BlockPool(4)
    blocks = pool.get_new_blocks(2)
    pool.cache_full_blocks(blocks, [b"a", b"b"], 0, 2)
    assert not pool.reset_prefix_cache()
    assert pool.get_cached_block(b"a") == 1
    pool.free_blocks(blocks[::-1])
    order = pool.free_order()
    assert pool.reset_prefix_cache()
    assert pool.get_cached_block(b"a") is None
    assert pool.block_hash(1) is None
    assert pool.free_order() == order


def test_a_block_gets_a_hash_once() -> None:
    pool = BlockPool(4)
    blocks = pool.get_new_blocks(1)
    pool.cache_full_blocks(blocks, [b"a"], 0, 1)
    with pytest.raises(AssertionError, match="block 1 has a hash"):
        pool.cache_full_blocks(blocks, [b"b"], 0, 1)


def test_a_full_block_has_a_hash_to_get() -> None:
    pool = BlockPool(4)
    blocks = pool.get_new_blocks(2)
    with pytest.raises(AssertionError, match="2 full blocks, but hashes of 1 alone"):
        pool.cache_full_blocks(blocks, [b"a"], 0, 2)


class PoolMachine(RuleBasedStateMachine):
    """Whatever happens, a block is free exactly when nobody uses it."""

    def __init__(self) -> None:
        super().__init__()
        self.pool = BlockPool(8)
        self.held: list[list[int]] = []
        self.made = 0

    @rule(count=st.integers(1, 3), full=st.booleans())
    def take(self, count: int, full: bool) -> None:
        if count > self.pool.get_num_free_blocks():
            return
        head = self.pool.free_order()[:count]
        lost = {self.pool.block_hash(block) for block in head} - {None}
        blocks = self.pool.get_new_blocks(count)
        assert blocks == head
        assert not any(self.pool.block_hash(block) in lost for block in blocks)
        self.held.append(blocks)
        if full:
            hashes = [bytes([self.made % 5, i]) for i in range(count)]
            self.made += 1
            self.pool.cache_full_blocks(blocks, hashes, 0, count)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def share(self, data: st.DataObject) -> None:
        blocks = data.draw(st.sampled_from(self.held))
        self.pool.touch(blocks)
        self.held.append(list(blocks))

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def free(self, data: st.DataObject) -> None:
        index = data.draw(st.integers(0, len(self.held) - 1))
        self.pool.free_blocks(reversed(self.held.pop(index)))

    @invariant()
    def blocks_are_conserved(self) -> None:
        used = {block for blocks in self.held for block in blocks}
        assert sorted([*used, *self.pool.free_order()]) == list(range(1, 8))
        for block in range(1, 8):
            users = sum(blocks.count(block) for blocks in self.held)
            assert self.pool.ref_cnt(block) == users

    @invariant()
    def a_hash_is_found_at_a_block_that_has_it(self) -> None:
        for block in range(1, 8):
            block_hash = self.pool.block_hash(block)
            if block_hash is not None:
                found = self.pool.get_cached_block(block_hash)
                assert found is not None
                assert self.pool.block_hash(found) == block_hash


TestPoolMachine = PoolMachine.TestCase


@given(st.lists(st.integers(1, 3), min_size=1, max_size=4))
def test_without_caching_the_last_freed_goes_first(sizes: list[int]) -> None:
    pool = BlockPool(20, enable_caching=False)
    taken = [pool.get_new_blocks(size) for size in sizes]
    order = pool.free_order()
    for blocks in taken:
        pool.free_blocks(blocks)
    assert pool.free_order() == [b for blocks in reversed(taken) for b in blocks] + order
