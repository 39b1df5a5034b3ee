"""The block pool: who holds which KV cache block, and what may still be found in it.

A block is named by its id, an int from 0 to ``num_gpu_blocks - 1``. Block 0 is the *null
block*: a placeholder that is never handed out. Write the queue first, then the pool on top.

Read in vLLM 0.30.0: ``FreeKVCacheBlockQueue`` in ``vllm/v1/core/kv_cache_utils.py``,
``BlockPool`` in ``vllm/v1/core/block_pool.py``.
"""

from collections.abc import Sequence

HEAD = -1
TAIL = -2
NULL_BLOCK = 0


class FreeKVCacheBlockQueue:
    """The free blocks in order: a doubly linked list between two sentinels.

    Every method but ``get_all_free_blocks`` takes a time that does not depend on the length
    of the list: O(1) for one block, O(n) for n blocks.

    Args:
        block_ids: the ids that are free at the start, all different and at least 0; the first
            becomes the head. Only these ids are ever put back.

    Attributes:
        num_free_blocks: how many ids the list holds now (int).

    >>> queue = FreeKVCacheBlockQueue([1, 2, 3, 4, 5])
    >>> queue.popleft()
    1
    >>> queue.remove(3)
    >>> queue.get_all_free_blocks()
    [2, 4, 5]
    >>> queue.append(3)
    >>> queue.prepend_n([1])
    >>> queue.get_all_free_blocks(), queue.num_free_blocks
    ([1, 2, 4, 5, 3], 5)
    """

    def __init__(self, block_ids: Sequence[int]) -> None:
        self.num_free_blocks = 0
        self._next: dict[int, int] = {}
        self._prev: dict[int, int] = {}
        self._link(HEAD, TAIL)
        # Without append_n there is no queue, and no pool, to try anything on: write it first.
        self.append_n(block_ids)

    def _link(self, before: int, after: int) -> None:
        self._next[before] = after
        self._prev[after] = before

    def popleft(self) -> int:
        """Take the block at the head.

        Returns:
            Its id.

        Raises:
            ValueError: the list is empty.

        >>> queue = FreeKVCacheBlockQueue([4])
        >>> queue.popleft()
        4
        >>> queue.popleft()
        Traceback (most recent call last):
        ...
        ValueError: no free blocks available
        """
        ### BEGIN SOLUTION remove the block behind HEAD and return it
        if self.num_free_blocks == 0:
            raise ValueError("no free blocks available")
        first = self._next[HEAD]
        self.remove(first)
        return first
        ### END SOLUTION

    def popleft_n(self, n: int) -> list[int]:
        """Take n blocks from the head; the caller makes sure that there are so many.

        Args:
            n: how many, from 0 to ``num_free_blocks``.

        Returns:
            Their ids, the old head first.

        >>> queue = FreeKVCacheBlockQueue([7, 5, 6])
        >>> queue.popleft_n(2)
        [7, 5]
        """
        ### BEGIN SOLUTION take the head n times
        return [self.popleft() for _ in range(n)]
        ### END SOLUTION

    def remove(self, block_id: int) -> None:
        """Take a block out of the list, wherever it stands, without looking for it.

        Raises:
            RuntimeError: the block is not in the list.

        >>> queue = FreeKVCacheBlockQueue([1, 2, 3])
        >>> queue.remove(2)
        >>> queue.get_all_free_blocks()
        [1, 3]
        """
        ### BEGIN SOLUTION link its two neighbours to each other, and forget its own links
        if block_id not in self._next:
            raise RuntimeError(f"block {block_id} is not in the free list")
        self._link(self._prev.pop(block_id), self._next.pop(block_id))
        self.num_free_blocks -= 1
        ### END SOLUTION

    def append(self, block_id: int) -> None:
        """Put one block at the end.

        >>> queue = FreeKVCacheBlockQueue([1, 2])
        >>> queue.append(queue.popleft())
        >>> queue.get_all_free_blocks()
        [2, 1]
        """
        ### BEGIN SOLUTION link the block between the last one and TAIL
        self._link(self._prev[TAIL], block_id)
        self._link(block_id, TAIL)
        self.num_free_blocks += 1
        ### END SOLUTION

    def append_n(self, block_ids: Sequence[int]) -> None:
        """Put blocks at the end, in the order given: the last one given becomes the tail.

        >>> queue = FreeKVCacheBlockQueue([1, 2, 3, 4])
        >>> queue.append_n(queue.popleft_n(2))
        >>> queue.get_all_free_blocks()
        [3, 4, 1, 2]
        """
        ### BEGIN SOLUTION append them one after the other
        for block_id in block_ids:
            self.append(block_id)
        ### END SOLUTION

    def prepend_n(self, block_ids: Sequence[int]) -> None:
        """Put blocks at the front, in the order given: the first one given becomes the head.

        >>> queue = FreeKVCacheBlockQueue([1, 2, 3, 4])
        >>> blocks = queue.popleft_n(3)
        >>> queue.prepend_n([3, 2])
        >>> queue.get_all_free_blocks()
        [3, 2, 4]
        """
        ### BEGIN SOLUTION link them behind HEAD, the last one given first
        for block_id in reversed(block_ids):
            self._link(block_id, self._next[HEAD])
            self._link(HEAD, block_id)
            self.num_free_blocks += 1
        ### END SOLUTION

    def get_all_free_blocks(self) -> list[int]:
        """Return the ids in the list, the head first; the list stays as it is."""
        ### BEGIN SOLUTION walk from HEAD to TAIL
        block_ids = []
        block_id = self._next[HEAD]
        while block_id != TAIL:
            block_ids.append(block_id)
            block_id = self._next[block_id]
        return block_ids
        ### END SOLUTION


class BlockPool:
    """All KV cache blocks of a GPU: hands them out, counts their users, finds their content.

    Args:
        num_gpu_blocks: how many blocks there are, the null block included; at least 1.
        enable_caching: whether a block's content may be found again (prefix caching).

    Attributes:
        free_block_queue: the blocks that nobody uses, the next one to go at the head.

    The null block, 0, may stand in any list of ids that the pool is given: it is passed over.

    >>> pool = BlockPool(8)
    >>> blocks = pool.get_new_blocks(3)
    >>> blocks
    [1, 2, 3]
    >>> pool.cache_full_blocks(blocks, [b"first", b"second"], 0, 2)
    >>> pool.free_blocks([3, 2, 1])
    >>> pool.free_order()
    [3, 4, 5, 6, 7, 2, 1]
    >>> pool.get_cached_block(b"second")
    2
    """

    def __init__(self, num_gpu_blocks: int, enable_caching: bool = True) -> None:
        self.num_gpu_blocks = num_gpu_blocks
        self.enable_caching = enable_caching
        self.free_block_queue = FreeKVCacheBlockQueue(range(num_gpu_blocks))
        self.null_block = self.free_block_queue.popleft()
        self._ref_cnt = [0] * num_gpu_blocks
        self._block_hash: list[bytes | None] = [None] * num_gpu_blocks
        # The copies of one content: a dict of ids, for its order; the values mean nothing.
        self._cached_block_hash_to_block: dict[bytes, dict[int, None]] = {}

    def get_new_blocks(self, num_blocks: int) -> list[int]:
        """Hand out blocks from the head of the free list. A hash that one still has is evicted.

        Args:
            num_blocks: how many, at least 0.

        Returns:
            Their ids, the old head first; each now has a reference count of 1 and no hash.

        Raises:
            ValueError: there are fewer free blocks than that; then nothing has changed.

        >>> pool = BlockPool(4)
        >>> pool.get_new_blocks(2), pool.get_num_free_blocks()
        ([1, 2], 1)
        >>> pool.get_new_blocks(2)
        Traceback (most recent call last):
        ...
        ValueError: cannot get 2 free blocks from the pool
        """
        ### BEGIN SOLUTION take blocks from the head, evict what they held, count one user each
        if num_blocks > self.get_num_free_blocks():
            raise ValueError(f"cannot get {num_blocks} free blocks from the pool")
        block_ids = self.free_block_queue.popleft_n(num_blocks)
        self.evict_blocks(block_ids)
        for block_id in block_ids:
            self._ref_cnt[block_id] = 1
        return block_ids
        ### END SOLUTION

    def touch(self, block_ids: Sequence[int]) -> None:
        """Count one user more for each block; a block that was free leaves the free list.

        >>> pool = BlockPool(8)
        >>> pool.touch([3, 0])
        >>> pool.free_order(), pool.ref_cnt(3)
        ([1, 2, 4, 5, 6, 7], 1)
        """
        ### BEGIN SOLUTION a count of 0 means that the block stands in the free list
        for block_id in block_ids:
            if block_id == NULL_BLOCK:
                continue
            if self._ref_cnt[block_id] == 0:
                self.free_block_queue.remove(block_id)
            self._ref_cnt[block_id] += 1
        ### END SOLUTION

    def free_blocks(self, ordered_blocks: Sequence[int]) -> None:
        """Count one user less for each block; those without any user become free.

        A block that becomes free goes to the front of the free list if it has no hash (or if
        caching is off), and to the end if it has one. Those that go to the same side keep the
        order given. No hash is lost.

        Args:
            ordered_blocks: ids in use, the one to be reused first at the start.

        >>> pool = BlockPool(6)
        >>> blocks = pool.get_new_blocks(3)
        >>> pool.free_blocks([3, 2, 1])
        >>> pool.free_order()
        [3, 2, 1, 4, 5]
        """
        ### BEGIN SOLUTION sort those that became free into a front batch and an end batch
        evict_first = []
        evict_last = []
        for block_id in ordered_blocks:
            if block_id == NULL_BLOCK:
                continue
            self._ref_cnt[block_id] -= 1
            if self._ref_cnt[block_id] > 0:
                continue
            if self.enable_caching and self._block_hash[block_id] is not None:
                evict_last.append(block_id)
            else:
                evict_first.append(block_id)
        self.free_block_queue.prepend_n(evict_first)
        self.free_block_queue.append_n(evict_last)
        ### END SOLUTION

    def cache_full_blocks(
        self,
        block_ids: Sequence[int],
        block_hashes: Sequence[bytes],
        num_cached_blocks: int,
        num_full_blocks: int,
    ) -> None:
        """Give the blocks of a request that have become full their hashes.

        Args:
            block_ids: all blocks of the request, in the order of its tokens.
            block_hashes: ``block_hashes[i]`` belongs to ``block_ids[i]``; at least
                ``num_full_blocks`` of them.
            num_cached_blocks: so many blocks at the start were done by earlier calls.
            num_full_blocks: so many blocks at the start are full now. Nothing is done if this
                is not more than ``num_cached_blocks``.

        Raises:
            AssertionError: a block from ``num_cached_blocks`` up to ``num_full_blocks`` has a
                hash already.

        >>> pool = BlockPool(8)
        >>> blocks = pool.get_new_blocks(3)
        >>> pool.cache_full_blocks(blocks, [b"a", b"b", b"c"], 1, 2)
        >>> [pool.block_hash(block) for block in blocks]
        [None, b'b', None]
        """
        ### BEGIN SOLUTION store each hash with its block, and the block under its hash
        for i in range(num_cached_blocks, num_full_blocks):
            block_id, block_hash = block_ids[i], block_hashes[i]
            if block_id == NULL_BLOCK:
                continue
            assert self._block_hash[block_id] is None, f"block {block_id} already has a hash"
            self._block_hash[block_id] = block_hash
            self._cached_block_hash_to_block.setdefault(block_hash, {})[block_id] = None
        ### END SOLUTION

    def get_cached_block(self, block_hash: bytes) -> int | None:
        """Find a block that has this hash, free or in use. Nothing changes.

        Returns:
            Its id; of several copies, the one that was cached first; None if there is none.

        >>> pool = BlockPool(8)
        >>> pool.cache_full_blocks(pool.get_new_blocks(2), [b"same", b"same"], 0, 2)
        >>> pool.get_cached_block(b"same"), pool.get_cached_block(b"other")
        (1, None)
        """
        ### BEGIN SOLUTION the oldest of the copies that are left
        return next(iter(self._cached_block_hash_to_block.get(block_hash, ())), None)
        ### END SOLUTION

    def evict_blocks(self, block_ids: Sequence[int]) -> None:
        """Remove the hashes of these blocks; the blocks stay where they are, free or in use.

        Args:
            block_ids: any ids; those without a hash are passed over.

        >>> pool = BlockPool(4)
        >>> pool.cache_full_blocks(pool.get_new_blocks(2), [b"a", b"b"], 0, 2)
        >>> pool.evict_blocks([1, 3])
        >>> pool.get_cached_block(b"a"), pool.get_cached_block(b"b"), pool.ref_cnt(1)
        (None, 2, 1)
        """
        ### BEGIN SOLUTION forget the hash of each block, and this one copy under that hash
        for block_id in block_ids:
            block_hash = self._block_hash[block_id]
            if block_hash is None:
                continue
            self._block_hash[block_id] = None
            copies = self._cached_block_hash_to_block[block_hash]
            del copies[block_id]
            if not copies:
                del self._cached_block_hash_to_block[block_hash]
        ### END SOLUTION

    def reset_prefix_cache(self) -> bool:
        """Forget all hashes, if no block is in use. The order of the free list stays.

        Returns:
            Whether it was done; False, and nothing has changed, when a block is in use.

        >>> pool = BlockPool(4)
        >>> blocks = pool.get_new_blocks(1)
        >>> pool.reset_prefix_cache()
        False
        >>> pool.free_blocks(blocks)
        >>> pool.reset_prefix_cache()
        True
        """
        ### BEGIN SOLUTION all or nothing; the null block does not count as in use
        if self.get_num_free_blocks() != self.num_gpu_blocks - 1:
            return False
        self._cached_block_hash_to_block.clear()
        self._block_hash = [None] * self.num_gpu_blocks
        return True
        ### END SOLUTION

    def get_usage(self) -> float:
        """Return the share of the blocks that is in use, from 0.0 to 1.0.

        The null block counts neither as used nor as there; a pool that has no other: 0.0.

        >>> pool = BlockPool(5)
        >>> blocks = pool.get_new_blocks(3)
        >>> pool.get_usage()
        0.75
        """
        ### BEGIN SOLUTION one minus the free share of the blocks that can be handed out
        total = self.num_gpu_blocks - 1
        return 1.0 - self.get_num_free_blocks() / total if total else 0.0
        ### END SOLUTION

    def get_num_free_blocks(self) -> int:
        """Return how many blocks can be handed out now."""
        return self.free_block_queue.num_free_blocks

    def free_order(self) -> list[int]:
        """Return the free blocks, the next one to be handed out first."""
        return self.free_block_queue.get_all_free_blocks()

    def ref_cnt(self, block_id: int) -> int:
        """Return how many users the block has. It is not kept for the null block."""
        return self._ref_cnt[block_id]

    def block_hash(self, block_id: int) -> bytes | None:
        """Return the hash of the block's content, or None if it has none."""
        return self._block_hash[block_id]
