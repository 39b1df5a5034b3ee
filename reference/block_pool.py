"""The pool of KV cache blocks: who may write where, and which content can be found again."""

from collections.abc import Iterable, Sequence

from reference.kv_cache_utils import FreeKVCacheBlockQueue

NULL_BLOCK_ID = 0


class BlockPool:
    """Blocks 0 to ``num_gpu_blocks - 1``; block 0 is the null block and is never handed out.

    A free block keeps its content and its hash until it is handed out again.

    >>> pool = BlockPool(8)
    >>> blocks = pool.get_new_blocks(5)
    >>> pool.cache_full_blocks(blocks, [b"a", b"b", b"c"], 0, 3)
    >>> pool.free_blocks(reversed(blocks))
    >>> pool.free_order()
    [5, 4, 6, 7, 3, 2, 1]
    """

    __slots__ = (
        *("_block_hash", "_cached_block_hash_to_blocks", "_free_block_queue", "_ref_cnt"),
        *("enable_caching", "num_gpu_blocks"),
    )

    def __init__(self, num_gpu_blocks: int, enable_caching: bool = True) -> None:
        self.num_gpu_blocks = num_gpu_blocks
        self.enable_caching = enable_caching
        self._ref_cnt = [0] * num_gpu_blocks
        self._block_hash: list[bytes | None] = [None] * num_gpu_blocks
        # The copies of a content, oldest first. They are not merged: a block table is append-only,
        # so nobody could be moved from one copy to another.
        self._cached_block_hash_to_blocks: dict[bytes, dict[int, None]] = {}
        self._free_block_queue = FreeKVCacheBlockQueue(range(1, num_gpu_blocks))

    def get_new_blocks(self, num_blocks: int) -> list[int]:
        """Takes blocks from the head of the free list; what they held is forgotten now.

        Raises:
            ValueError: fewer are free.
        """
        blocks = self._free_block_queue.popleft_n(num_blocks)
        for block in blocks:
            self._ref_cnt[block] = 1
            if self._block_hash[block] is not None:
                self._evict(block)
        return blocks

    def touch(self, block_ids: Iterable[int]) -> None:
        """Adds one user to each block; a free one leaves the free list."""
        for block in block_ids:
            if self._ref_cnt[block] == 0 and block != NULL_BLOCK_ID:
                self._free_block_queue.remove(block)
            self._ref_cnt[block] += 1

    def free_blocks(self, ordered_block_ids: Iterable[int]) -> None:
        """Takes one user from each block, given in the order in which they may go.

        Of those without users, blocks that nobody could look up go to the head of the free list
        (they are still warm in the GPU's caches), the others to its tail.
        """
        ref_cnt, block_hash = self._ref_cnt, self._block_hash
        uncached: list[int] = []
        cached: list[int] = []
        for block in ordered_block_ids:
            ref_cnt[block] -= 1
            if ref_cnt[block] == 0 and block != NULL_BLOCK_ID:
                (uncached if block_hash[block] is None else cached).append(block)
        self._free_block_queue.prepend_n(uncached)
        self._free_block_queue.append_n(cached)

    def cache_full_blocks(
        self,
        block_ids: Sequence[int],
        block_hashes: Sequence[bytes],
        num_cached_blocks: int,
        num_full_blocks: int,
    ) -> None:
        """Makes ``block_ids[num_cached_blocks:num_full_blocks]`` findable by their hashes."""
        assert num_full_blocks <= len(block_hashes), (
            f"{num_full_blocks} full blocks, but hashes of {len(block_hashes)} alone: "
            "drafts and lookahead fill no block"
        )
        for index in range(num_cached_blocks, num_full_blocks):
            block = block_ids[index]
            if block == NULL_BLOCK_ID:
                continue
            assert self._block_hash[block] is None, (
                f"block {block} has a hash already: blocks that were hit count as entered"
            )
            block_hash = block_hashes[index]
            self._block_hash[block] = block_hash
            self._cached_block_hash_to_blocks.setdefault(block_hash, {})[block] = None

    def get_cached_block(self, block_hash: bytes) -> int | None:
        """The oldest block with this content, free or not; None when there is none."""
        copies = self._cached_block_hash_to_blocks.get(block_hash)
        return next(iter(copies)) if copies else None

    def evict_blocks(self, block_ids: Iterable[int]) -> None:
        """Makes blocks unfindable; each stays where it is."""
        for block in block_ids:
            if self._block_hash[block] is not None:
                self._evict(block)

    def reset_prefix_cache(self) -> bool:
        """Makes all blocks unfindable; False, and nothing done, while any block has a user."""
        if self.get_num_free_blocks() != self.num_gpu_blocks - 1:
            return False
        self._cached_block_hash_to_blocks.clear()
        self._block_hash = [None] * self.num_gpu_blocks
        return True

    def get_num_free_blocks(self) -> int:
        """How many blocks could be handed out."""
        return self._free_block_queue.num_free_blocks

    def get_usage(self) -> float:
        """The share of blocks with users, from 0.0 to 1.0; the null block does not count."""
        num_usable_blocks = self.num_gpu_blocks - 1
        return 1.0 - self.get_num_free_blocks() / num_usable_blocks if num_usable_blocks else 0.0

    def free_order(self) -> list[int]:
        """The free list, next block first."""
        return self._free_block_queue.get_all_free_blocks()

    def ref_cnt(self, block_id: int) -> int:
        """How many users a block has."""
        return self._ref_cnt[block_id]

    def block_hash(self, block_id: int) -> bytes | None:
        """The hash by which a block can be found, or None."""
        return self._block_hash[block_id]

    def _evict(self, block_id: int) -> None:
        block_hash = self._block_hash[block_id]
        assert block_hash is not None
        copies = self._cached_block_hash_to_blocks[block_hash]
        del copies[block_id]
        if not copies:
            del self._cached_block_hash_to_blocks[block_hash]
        self._block_hash[block_id] = None
