"""Lets a submission's functions decide for the groups of layers in the engine."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from reference.engine import Parts
from reference.hybrid_kv_cache_manager import HybridKVCacheManager
from reference.kv_cache_coordinator import HybridKVCacheCoordinator
from reference.kv_cache_interface import KVCacheSpec, SlidingWindowSpec
from reference.kv_cache_utils import make_block_hash_with_group_id
from reference.single_type_kv_cache_manager import SingleTypeKVCacheManager


def group_of(spec: KVCacheSpec) -> tuple[str, int, int]:
    """A group as the lesson has it: kind, block size, window or chunk.

    >>> group_of(SlidingWindowSpec(4, 8))
    ('sliding_window', 4, 8)
    """
    kind, block_size, *size = spec.to_dict().values()
    return kind, block_size, size[0] if size else 0


class Manager(SingleTypeKVCacheManager):
    """Holds a group's blocks; the submission says which of them."""

    def __init__(self, lesson: Any, *args: Any) -> None:
        super().__init__(*args)
        self._lesson = lesson
        self._kind, _, self._size = group_of(self.spec)

    def get_num_skipped_tokens(self, num_computed_tokens: int) -> int:
        if num_computed_tokens == 0:
            return 0
        skipped: int = self._lesson.get_num_skipped_tokens(
            self._kind, num_computed_tokens, self._size
        )
        return skipped

    def reachable_blocks(
        self, start: int, end: int, retention_interval: int | None, boundaries: Sequence[int]
    ) -> Iterable[int]:
        if not isinstance(self.spec, SlidingWindowSpec):
            return range(start, end)
        reachable: list[int] = self._lesson.reachable_blocks(
            *(start, end, self.block_size, self._size, self._scheduler_block_size),
            *(retention_interval, list(boundaries)),
        )
        return reachable

    def remove_skipped_blocks(self, request_id: str, num_processed_tokens: int) -> None:
        table = self.req_to_blocks.get(request_id)
        if table and num_processed_tokens:
            table[:], freed = self._lesson.remove_skipped_blocks(
                list(table), self._kind, num_processed_tokens, self.block_size, self._size
            )
            self.block_pool.free_blocks(freed)


class Coordinator(HybridKVCacheCoordinator):
    """Asks the pool what is cached, and the submission what that is worth."""

    def __init__(self, lesson: Any, specs: Sequence[KVCacheSpec], *args: Any) -> None:
        self._lesson = lesson
        self._groups = [group_of(spec) for spec in specs]
        super().__init__(specs, *args)

    def _make_manager(self, spec: KVCacheSpec, *args: Any) -> SingleTypeKVCacheManager:
        return Manager(self._lesson, spec, *args)

    def find_longest_cache_hit(
        self, block_hashes: Sequence[bytes], max_cache_hit_length: int
    ) -> tuple[list[list[int]], int, int]:
        cached_per_group = [
            self._cached_blocks(group_id, block_size, block_hashes, max_cache_hit_length)
            for group_id, (_, block_size, _) in enumerate(self._groups)
        ]
        tables, length, num_uncached = self._lesson.find_longest_common_hit(
            self._groups, cached_per_group, max_cache_hit_length
        )
        return tables, length, num_uncached

    def _cached_blocks(
        self, group_id: int, block_size: int, block_hashes: Sequence[bytes], max_length: int
    ) -> list[int | None]:
        scale = block_size // self.hash_block_size
        keys = (
            make_block_hash_with_group_id(block_hashes[(index + 1) * scale - 1], group_id)
            for index in range(max_length // block_size)
        )
        return [self.block_pool.get_cached_block(key) for key in keys]


def install(parts: Parts, lesson: Any) -> Parts:
    manager = partial(HybridKVCacheManager, coordinator=partial(Coordinator, lesson))
    return replace(parts, hybrid_kv_cache_manager=manager)
