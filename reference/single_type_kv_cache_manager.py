"""The blocks of one group of layers: what it holds, what it may let go, what it finds again."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from reference.block_pool import NULL_BLOCK_ID, BlockPool
from reference.kv_cache_interface import (
    ChunkedLocalAttentionSpec,
    FullAttentionSpec,
    KVCacheSpec,
    SlidingWindowSpec,
)
from reference.kv_cache_utils import make_block_hash_with_group_id

#: Of a block's index: that block in each of the groups that are looked up together, or None.
CachedBlocks = Callable[[int], list[int] | None]
#: Told of a request, of which of its blocks are full now, first and end, and which were cached.
ReportStored = Callable[[Any, int, int, Iterable[int]], None]


class GroupRequest(Protocol):
    """What a group's manager reads of a request."""

    @property
    def request_id(self) -> str: ...
    @property
    def block_hashes(self) -> list[bytes]: ...


class Hit:
    """A prefix that is cached: ``num_skipped`` null blocks, then the blocks of each group."""

    __slots__ = ("num_skipped", "rows")

    def __init__(self, num_skipped: int, rows: list[list[int]]) -> None:
        self.num_skipped = num_skipped
        self.rows = rows

    @property
    def num_blocks(self) -> int:
        """The prefix in blocks."""
        return self.num_skipped + len(self.rows)

    def table(self, member: int, num_blocks: int) -> list[int]:
        """The first blocks of one of the groups that were looked up together."""
        nulls = [NULL_BLOCK_ID] * self.num_skipped
        return (nulls + [row[member] for row in self.rows])[:num_blocks]


class SingleTypeKVCacheManager:
    """Block tables of one group. A table has a null block wherever it needs none any more.

    ``max_admission_blocks`` caps what an admission reserves; ``report_stored``, where there is
    one, hears of every block that becomes full.
    """

    def __init__(
        self,
        spec: Any,
        block_pool: BlockPool,
        group_id: int,
        scheduler_block_size: int,
        hash_block_size: int,
        max_admission_blocks: int | None = None,
    ) -> None:
        self.spec = spec
        self.block_pool = block_pool
        self.block_size: int = spec.block_size
        self.req_to_blocks: dict[str, list[int]] = {}
        self._num_cached_blocks: dict[str, int] = {}
        self._group_id = group_id
        self._scheduler_block_size = scheduler_block_size
        self._hashes_per_block = self.block_size // hash_block_size
        self._max_admission_blocks = max_admission_blocks
        self.report_stored: ReportStored | None = None

    @staticmethod
    def find_longest_cache_hit(
        spec: Any, cached: CachedBlocks, max_length: int, alignment_tokens: int
    ) -> Hit:
        """The longest prefix, of at most ``max_length`` tokens, that the spec's groups can reuse.

        It is a multiple of ``alignment_tokens``.
        """
        raise NotImplementedError

    def get_num_skipped_tokens(self, num_computed_tokens: int) -> int:
        """Leading tokens that the group will not read again."""
        skipped: int = self.spec.get_num_skipped_tokens(num_computed_tokens)
        return skipped

    def get_num_blocks_to_allocate(
        self,
        request_id: str,
        num_tokens: int,
        hits: Sequence[int],
        num_computed_tokens: int,
        apply_admission_cap: bool = False,
    ) -> int:
        """Free blocks that slots for ``num_tokens`` tokens take, those of free hits included."""
        num_blocks = -(-num_tokens // self.block_size)
        if apply_admission_cap and self._max_admission_blocks is not None:
            num_blocks = min(num_blocks, self._max_admission_blocks)
        num_held = len(self.req_to_blocks.get(request_id, ())) + len(hits)
        num_skipped = self.get_num_skipped_tokens(num_computed_tokens) // self.block_size
        num_new = max(num_blocks - max(num_skipped, num_held), 0)
        ref_cnt = self.block_pool.ref_cnt
        # Hits that the group will not read stay where they are.
        return num_new + sum(
            1 for block in hits[num_skipped:] if block != NULL_BLOCK_ID and ref_cnt(block) == 0
        )

    def add_local_computed_blocks(
        self, request_id: str, hits: Sequence[int], num_computed_tokens: int
    ) -> None:
        """Starts the table of a request that is admitted with hits."""
        num_skipped = self.get_num_skipped_tokens(num_computed_tokens) // self.block_size
        needed = hits[num_skipped:]
        self.block_pool.touch(needed)
        table = [NULL_BLOCK_ID] * num_skipped + list(needed)
        self.req_to_blocks[request_id] = table
        self._num_cached_blocks[request_id] = len(table)

    def allocate_new_blocks(self, request_id: str, num_tokens: int) -> list[int]:
        """Extends the table to slots for so many tokens; returns the new blocks."""
        table = self.req_to_blocks.setdefault(request_id, [])
        num_missing = -(-num_tokens // self.block_size) - len(table)
        if num_missing <= 0:
            return []
        new_blocks = self.block_pool.get_new_blocks(num_missing)
        table.extend(new_blocks)
        return new_blocks

    def cache_blocks(
        self,
        request: GroupRequest,
        num_tokens: int,
        retention_interval: int | None,
        boundaries: Sequence[int],
    ) -> None:
        """Makes the full blocks of these tokens findable, those that a hit could need.

        ``boundaries`` are lengths at which a later request will probably want to go on.
        """
        request_id = request.request_id
        start, end = self._num_cached_blocks.get(request_id, 0), num_tokens // self.block_size
        if start >= end:
            return
        table, block_hashes = self.req_to_blocks[request_id], request.block_hashes
        blocks: list[int] = []
        keys: list[bytes] = []
        reachable = list(self.reachable_blocks(start, end, retention_interval, boundaries))
        for index in reachable:
            blocks.append(table[index])
            block_hash = block_hashes[(index + 1) * self._hashes_per_block - 1]
            keys.append(make_block_hash_with_group_id(block_hash, self._group_id))
        self.block_pool.cache_full_blocks(blocks, keys, 0, len(blocks))
        self._num_cached_blocks[request_id] = end
        if self.report_stored is not None:
            stored = [index for index in reachable if table[index] != NULL_BLOCK_ID]
            self.report_stored(request, start, end, stored)

    def reachable_blocks(
        self, start: int, end: int, _retention_interval: int | None, _boundaries: Sequence[int]
    ) -> Iterable[int]:
        """Which of the blocks ``start`` to ``end - 1`` are worth keeping findable."""
        return range(start, end)

    def remove_skipped_blocks(self, request_id: str, num_processed_tokens: int) -> None:
        """Frees the blocks whose tokens are not read again, the newest first."""
        num_skipped = self.get_num_skipped_tokens(num_processed_tokens) // self.block_size
        table = self.req_to_blocks.get(request_id, [])
        freed: list[int] = []
        for index in range(min(num_skipped, len(table)) - 1, -1, -1):
            if table[index] == NULL_BLOCK_ID:
                # Those before it were freed earlier.
                break
            freed.append(table[index])
            table[index] = NULL_BLOCK_ID
        if freed:
            self.block_pool.free_blocks(freed)

    def free(self, request_id: str) -> None:
        """Gives all blocks of a request back, the last one first."""
        self._num_cached_blocks.pop(request_id, None)
        self.block_pool.free_blocks(reversed(self.req_to_blocks.pop(request_id, [])))

    def get_num_common_prefix_blocks(self, _request_id: str) -> int:
        """How many leading blocks all requests share; none where leading blocks may be null."""
        return 0


class FullAttentionManager(SingleTypeKVCacheManager):
    """Needs every token from the first one on."""

    @staticmethod
    def find_longest_cache_hit(
        spec: FullAttentionSpec, cached: CachedBlocks, max_length: int, alignment_tokens: int
    ) -> Hit:
        rows: list[list[int]] = []
        for index in range(max_length // spec.block_size):
            row = cached(index)
            if row is None:
                break
            rows.append(row)
        length = len(rows) * spec.block_size
        del rows[(length - length % alignment_tokens) // spec.block_size :]
        return Hit(0, rows)

    def get_num_common_prefix_blocks(self, request_id: str) -> int:
        num_holders = len(self.req_to_blocks)
        num_shared = 0
        for block in self.req_to_blocks.get(request_id, ()):
            if self.block_pool.ref_cnt(block) != num_holders:
                break
            num_shared += 1
        return num_shared


class SlidingWindowManager(SingleTypeKVCacheManager):
    """Needs as many blocks before a position as its window reaches back from there."""

    @staticmethod
    def find_longest_cache_hit(
        spec: SlidingWindowSpec, cached: CachedBlocks, max_length: int, alignment_tokens: int
    ) -> Hit:
        num_needed = _num_window_blocks(spec)
        rows: list[list[int]] = []
        index = max_length // spec.block_size
        while index > 0:
            index -= 1
            row = cached(index)
            if row is None:
                rows.clear()
            elif rows or (index + 1) * spec.block_size % alignment_tokens == 0:
                rows.append(row)
                if len(rows) >= num_needed:
                    break
        # Short of the whole window only when there is nothing before it.
        return Hit(index if rows else 0, rows[::-1])

    def reachable_blocks(
        self, start: int, end: int, retention_interval: int | None, boundaries: Sequence[int]
    ) -> Iterable[int]:
        """The window's blocks before each multiple of the interval and before each boundary.

        An interval of None means every length at which a hit can end, 0 the boundaries alone.
        """
        alignment, block_size = self._scheduler_block_size, self.block_size
        num_needed = _num_window_blocks(self.spec)
        interval = alignment if retention_interval is None else retention_interval
        per_segment = interval // block_size
        if interval and num_needed >= per_segment:
            return range(start, end)
        tails = []
        if interval:
            first, last = start // per_segment, end // per_segment
            tails = [(segment + 1) * per_segment for segment in range(first, last + 1)]
        if retention_interval is not None:
            tails += [boundary // alignment * alignment // block_size for boundary in boundaries]
        reachable: set[int] = set()
        for tail in tails:
            reachable.update(range(max(start, tail - num_needed), min(end, tail)))
        return sorted(reachable)


class ChunkedLocalAttentionManager(SingleTypeKVCacheManager):
    """Needs the blocks of the chunk that a position lies in."""

    @staticmethod
    def find_longest_cache_hit(
        spec: ChunkedLocalAttentionSpec,
        cached: CachedBlocks,
        max_length: int,
        _alignment_tokens: int,
    ) -> Hit:
        num_skipped = spec.get_num_skipped_tokens(max_length) // spec.block_size
        rows: list[list[int]] = []
        for index in range(num_skipped, max_length // spec.block_size):
            row = cached(index)
            if row is None:
                break
            rows.append(row)
        return Hit(num_skipped, rows)


def _num_window_blocks(spec: SlidingWindowSpec) -> int:
    """Blocks that hold what a query at a block's first token reads before itself."""
    return -(-(spec.sliding_window - 1) // spec.block_size)


MANAGERS: dict[type[KVCacheSpec], type[SingleTypeKVCacheManager]] = {
    FullAttentionSpec: FullAttentionManager,
    SlidingWindowSpec: SlidingWindowManager,
    ChunkedLocalAttentionSpec: ChunkedLocalAttentionManager,
}
