"""Puts a submission's ``KVCacheManager`` into the engine."""

from dataclasses import replace
from typing import Any

from grader.handing import hand_in
from reference.engine import Parts
from reference.stats import PrefixCacheStats

POOL_METHODS = (
    "get_num_free_blocks",
    "get_new_blocks",
    "touch",
    "free_blocks",
    "cache_full_blocks",
    "get_cached_block",
    "reset_prefix_cache",
    "ref_cnt",
    "get_usage",
    "free_order",
)


class Manager:
    """What the scheduler calls: each request goes on to the submission as a snapshot."""

    def __init__(self, lesson: Any, block_pool: Any, *args: Any, **options: Any) -> None:
        self._lesson = lesson
        self._manager = lesson.KVCacheManager(hand_in(block_pool, *POOL_METHODS), *args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._manager, name)

    def get_computed_blocks(self, request: Any) -> Any:
        return self._manager.get_computed_blocks(self._snapshot(request))

    def allocate_slots(self, request: Any, *args: Any, **options: Any) -> Any:
        return self._manager.allocate_slots(self._snapshot(request), *args, **options)

    def cache_blocks(self, request: Any, num_computed_tokens: int) -> Any:
        return self._manager.cache_blocks(self._snapshot(request), num_computed_tokens)

    def record_prefix_cache_stats(self, request: Any, num_hits: int) -> Any:
        return self._manager.record_prefix_cache_stats(self._snapshot(request), num_hits)

    def make_prefix_cache_stats(self) -> PrefixCacheStats:
        stats = self._manager.make_prefix_cache_stats()
        names = PrefixCacheStats.__dataclass_fields__
        return PrefixCacheStats(**{name: getattr(stats, name) for name in names})

    def _snapshot(self, request: Any) -> Any:
        return self._lesson.Request(
            request.request_id,
            request.num_tokens,
            request.num_computed_tokens,
            list(request.block_hashes),
            request.num_preemptions,
            request.skip_reading_prefix_cache,
            request.is_waiting,
        )


def install(parts: Parts, lesson: Any) -> Parts:
    def kv_cache_manager(*args: Any, **options: Any) -> Any:
        return Manager(lesson, *args, **options)

    return replace(parts, kv_cache_manager=kv_cache_manager)
