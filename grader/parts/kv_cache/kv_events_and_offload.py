"""Puts a submission's ``EventingPool`` into an engine whose prefix cache tells of itself."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from grader.handing import hand_in
from reference.block_pool import BlockPool
from reference.engine import Parts
from reference.kv_events import EventingBlockPool, EventingKVCacheManager, KVCacheEvent

POOL_METHODS = (
    "get_new_blocks",
    "touch",
    "free_blocks",
    "cache_full_blocks",
    "reset_prefix_cache",
    "get_cached_block",
    "block_hash",
    "ref_cnt",
    "get_num_free_blocks",
    "get_usage",
    "free_order",
)
LESSONS_FIELDS = ("type", "block_hashes", "parent_block_hash", "token_ids", "block_size")


class Pool:
    """What the manager calls: all of it goes on to the submission.

    The fields of an event that the lesson leaves out are filled in by the engine.
    """

    def __init__(self, lesson: Any, num_gpu_blocks: int, enable_caching: bool) -> None:
        self._lesson = lesson
        self._block_pool = BlockPool(num_gpu_blocks, enable_caching)
        self._pool: Any = self._block_pool
        self._left_out: deque[KVCacheEvent] = deque()

    def start(self, block_size: int) -> None:
        """Hands the pool in, now that it is known how large its blocks are."""
        self._block_size = block_size
        self._pool = self._lesson.EventingPool(hand_in(self._block_pool, *POOL_METHODS), block_size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)

    def touch(self, block_ids: Iterable[int]) -> None:
        self._pool.touch(list(block_ids))

    def free_blocks(self, ordered_block_ids: Iterable[int]) -> None:
        self._pool.free_blocks(list(ordered_block_ids))

    def cache_full_blocks(
        self,
        block_ids: Sequence[int],
        block_hashes: Sequence[bytes],
        num_cached_blocks: int,
        num_full_blocks: int,
    ) -> None:
        # The tokens come with the report, which follows at once.
        self._full = (list(block_ids), list(block_hashes), num_cached_blocks, num_full_blocks)

    def report_stored(self, event: KVCacheEvent) -> None:
        block_ids, block_hashes, first, end = self._full
        # Of the tokens before, nobody is told again.
        token_ids = [0] * (first * self._block_size) + event["token_ids"]
        self._left_out.append({k: v for k, v in event.items() if k not in LESSONS_FIELDS})
        self._pool.cache_full_blocks(block_ids, block_hashes, token_ids, first, end)

    def take_events(self) -> list[KVCacheEvent]:
        return [self._filled_in(event) for event in self._pool.take_events()]

    def _filled_in(self, event: KVCacheEvent) -> KVCacheEvent:
        kind = event.get("type")
        if kind == "BlockStored" and self._left_out:
            return event | self._left_out.popleft()
        return event | {"medium": "GPU", "group_idx": 0} if kind == "BlockRemoved" else event


def install(parts: Parts, lesson: Any) -> Parts:
    def eventing_block_pool(num_gpu_blocks: int, enable_caching: bool, grouped: bool) -> Any:
        # The lesson's is for a single group.
        if grouped:
            return EventingBlockPool(num_gpu_blocks, enable_caching, grouped)
        return Pool(lesson, num_gpu_blocks, enable_caching)

    def eventing_kv_cache_manager(block_pool: Any, block_size: int, *args: Any, **kw: Any) -> Any:
        block_pool.start(block_size)
        return EventingKVCacheManager(block_pool, block_size, *args, **kw)

    return replace(
        parts,
        eventing_block_pool=eventing_block_pool,
        eventing_kv_cache_manager=eventing_kv_cache_manager,
    )
