"""vLLM's own free list and block pool behind the lesson's interface: blocks as ids."""

from collections.abc import Sequence
from types import SimpleNamespace

from vllm.v1.core import block_pool, kv_cache_utils

PRELOAD = ("vllm.v1.core.block_pool",)

GROUP = 0
#: Hashes are chained, and remember how many tokens they cover.
BLOCK_SIZE = 16


class FreeKVCacheBlockQueue:
    def __init__(self, block_ids: Sequence[int]) -> None:
        self._blocks = {block_id: kv_cache_utils.KVCacheBlock(block_id) for block_id in block_ids}
        self._queue = kv_cache_utils.FreeKVCacheBlockQueue(list(self._blocks.values()))

    @property
    def num_free_blocks(self) -> int:
        return self._queue.num_free_blocks

    def popleft(self) -> int:
        return self._queue.popleft().block_id

    def popleft_n(self, n: int) -> list[int]:
        return [block.block_id for block in self._queue.popleft_n(n)]

    def remove(self, block_id: int) -> None:
        self._queue.remove(self._blocks[block_id])

    def append(self, block_id: int) -> None:
        self._queue.append(self._blocks[block_id])

    def append_n(self, block_ids: Sequence[int]) -> None:
        self._queue.append_n([self._blocks[block_id] for block_id in block_ids])

    def prepend_n(self, block_ids: Sequence[int]) -> None:
        self._queue.prepend_n([self._blocks[block_id] for block_id in block_ids])

    def get_all_free_blocks(self) -> list[int]:
        return [block.block_id for block in self._queue.get_all_free_blocks()]


class BlockPool:
    def __init__(self, num_gpu_blocks: int, enable_caching: bool = True) -> None:
        self._pool = block_pool.BlockPool(num_gpu_blocks, enable_caching, BLOCK_SIZE)

    def _blocks(self, block_ids: Sequence[int]) -> list[kv_cache_utils.KVCacheBlock]:
        return [self._pool.blocks[block_id] for block_id in block_ids]

    def get_new_blocks(self, num_blocks: int) -> list[int]:
        return [block.block_id for block in self._pool.get_new_blocks(num_blocks)]

    def touch(self, block_ids: Sequence[int]) -> None:
        self._pool.touch(self._blocks(block_ids))

    def free_blocks(self, ordered_blocks: Sequence[int]) -> None:
        self._pool.free_blocks(self._blocks(ordered_blocks))

    def cache_full_blocks(
        self,
        block_ids: Sequence[int],
        block_hashes: Sequence[bytes],
        num_cached_blocks: int,
        num_full_blocks: int,
    ) -> None:
        self._pool.cache_full_blocks(
            SimpleNamespace(block_hashes=list(block_hashes)),
            self._blocks(block_ids),
            num_cached_blocks,
            num_full_blocks,
            BLOCK_SIZE,
            GROUP,
        )

    def get_cached_block(self, block_hash: bytes) -> int | None:
        blocks = self._pool.get_cached_block(block_hash, [GROUP])
        return blocks[0].block_id if blocks else None

    def evict_blocks(self, block_ids: Sequence[int]) -> None:
        self._pool.evict_blocks(set(block_ids))

    def reset_prefix_cache(self) -> bool:
        return self._pool.reset_prefix_cache()

    def get_usage(self) -> float:
        return self._pool.get_usage()

    def get_num_free_blocks(self) -> int:
        return self._pool.get_num_free_blocks()

    def free_order(self) -> list[int]:
        return [block.block_id for block in self._pool.free_block_queue.get_all_free_blocks()]

    def ref_cnt(self, block_id: int) -> int:
        return self._pool.blocks[block_id].ref_cnt

    def block_hash(self, block_id: int) -> bytes | None:
        key = self._pool.blocks[block_id].block_hash
        return None if key is None else kv_cache_utils.get_block_hash(key)
