"""What the groups of layers have in common: one pool, and one prefix that all of them can reuse."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from reference.block_pool import BlockPool
from reference.kv_cache_interface import FullAttentionSpec, KVCacheSpec
from reference.kv_cache_utils import make_block_hash_with_group_id, resolve_block_sizes
from reference.single_type_kv_cache_manager import (
    MANAGERS,
    CachedBlocks,
    Hit,
    SingleTypeKVCacheManager,
)


class HybridKVCacheCoordinator:
    """A manager for each group. Blocks are in lists, one a group, in the groups' order.

    ``scheduler_block_size`` is a multiple of every group's block size: all groups can go on from
    its multiples, so hits end there. ``retention_interval`` is how densely sliding windows stay in
    the prefix cache.
    """

    def __init__(
        self,
        specs: Sequence[KVCacheSpec],
        block_pool: BlockPool,
        max_model_len: int,
        max_in_flight_tokens: int,
        enable_caching: bool = True,
        retention_interval: int | None = 0,
    ) -> None:
        self.block_pool = block_pool
        self.enable_caching = enable_caching
        sizes = resolve_block_sizes([spec.block_size for spec in specs])
        self.scheduler_block_size, self.hash_block_size = sizes
        self.single_type_managers = [
            self._make_manager(
                spec,
                block_pool,
                group_id,
                *sizes,
                spec.max_admission_blocks_per_request(max_in_flight_tokens, max_model_len),
            )
            for group_id, spec in enumerate(specs)
        ]
        self._retention_interval = retention_interval
        # Groups of equal spec are looked up together, full attention before the others: it finds
        # the longest hit that any of them can have.
        self._ids_by_spec: dict[KVCacheSpec, list[int]] = {}
        for group_id, spec in sorted(enumerate(specs), key=lambda each: not _is_full(each[1])):
            self._ids_by_spec.setdefault(spec, []).append(group_id)

    def _make_manager(self, spec: KVCacheSpec, *args: Any) -> SingleTypeKVCacheManager:
        return MANAGERS[type(spec)](spec, *args)

    def find_longest_cache_hit(
        self, block_hashes: Sequence[bytes], max_cache_hit_length: int
    ) -> tuple[list[list[int]], int, int]:
        """The longest prefix that all groups can reuse.

        Returns:
            Its blocks, its length in tokens, and by how many tokens the longest hit that came up
            on the way exceeds it.
        """
        length, longest = max_cache_hit_length, 0
        hits: dict[KVCacheSpec, Hit] = {}
        specs = list(self._ids_by_spec)
        # Nobody shortens a single group's hit, and full attention accepts any shorter one.
        one_pass = len(self.single_type_managers) == 1 or (len(specs) == 2 and _is_full(specs[0]))
        while True:
            candidate = length
            for spec in specs:
                if _is_full(spec) and spec in hits:
                    # What is cached from the start on stays so when it is cut.
                    candidate = min(candidate, hits[spec].num_blocks * spec.block_size)
                    continue
                hits[spec] = MANAGERS[type(spec)].find_longest_cache_hit(
                    spec, self._cached(spec, block_hashes), candidate, self.scheduler_block_size
                )
                candidate = hits[spec].num_blocks * spec.block_size
                longest = max(longest, candidate)
            if candidate >= length:
                break
            length = candidate
            if one_pass:
                break
        return self._tables(hits, length), length, longest - length

    def _cached(self, spec: KVCacheSpec, block_hashes: Sequence[bytes]) -> CachedBlocks:
        hashes_per_block = spec.block_size // self.hash_block_size
        group_ids = self._ids_by_spec[spec]
        get_cached_block = self.block_pool.get_cached_block

        def cached(index: int) -> list[int] | None:
            block_hash = block_hashes[(index + 1) * hashes_per_block - 1]
            row: list[int] = []
            for group_id in group_ids:
                block = get_cached_block(make_block_hash_with_group_id(block_hash, group_id))
                if block is None:
                    return None
                row.append(block)
            return row

        return cached

    def _tables(self, hits: dict[KVCacheSpec, Hit], length: int) -> list[list[int]]:
        tables: list[list[int]] = [[] for _ in self.single_type_managers]
        for spec, hit in hits.items():
            for member, group_id in enumerate(self._ids_by_spec[spec]):
                tables[group_id] = hit.table(member, length // spec.block_size)
        return tables

    def get_num_blocks_to_allocate(
        self,
        request_id: str,
        num_tokens: int,
        hits: Sequence[Sequence[int]],
        num_computed_tokens: int,
        apply_admission_cap: bool = False,
    ) -> int:
        """Free blocks that slots for ``num_tokens`` tokens take in all groups together."""
        return sum(
            manager.get_num_blocks_to_allocate(
                request_id, num_tokens, of_group, num_computed_tokens, apply_admission_cap
            )
            for manager, of_group in self._with_hits(hits)
        )

    def allocate_new_computed_blocks(
        self, request_id: str, hits: Sequence[Sequence[int]], num_computed_tokens: int
    ) -> None:
        """Starts the tables of a request that is admitted with hits."""
        for manager, of_group in self._with_hits(hits):
            manager.add_local_computed_blocks(request_id, of_group, num_computed_tokens)

    def _with_hits(
        self, hits: Sequence[Sequence[int]]
    ) -> Iterator[tuple[SingleTypeKVCacheManager, Sequence[int]]]:
        none: Sequence[int] = ()
        for group_id, manager in enumerate(self.single_type_managers):
            yield manager, hits[group_id] if hits else none

    def allocate_new_blocks(self, request_id: str, num_tokens: int) -> list[list[int]]:
        """Extends all tables to slots for so many tokens; returns the new blocks."""
        return self._each(lambda group: group.allocate_new_blocks(request_id, num_tokens))

    def cache_blocks(self, request: Any, num_tokens: int, shared_prefix_boundary: int) -> None:
        """Makes full blocks of these tokens findable, as far as a hit could end there.

        A later request with the same prompt can go on from its last token but one, one that only
        shares a prefix from ``shared_prefix_boundary`` (0 for none).
        """
        boundaries = [request.num_prompt_tokens - 1, shared_prefix_boundary]
        num_tokens -= num_tokens % self.scheduler_block_size
        for manager in self.single_type_managers:
            manager.cache_blocks(request, num_tokens, self._retention_interval, boundaries)

    def remove_skipped_blocks(self, request_id: str, num_processed_tokens: int) -> None:
        """Frees the blocks that no group will read again."""
        for manager in self.single_type_managers:
            manager.remove_skipped_blocks(request_id, num_processed_tokens)

    def free(self, request_id: str) -> None:
        """Gives all blocks of a request back, group by group."""
        for manager in self.single_type_managers:
            manager.free(request_id)

    def get_blocks(self, request_id: str) -> list[list[int]]:
        """The request's block tables."""
        return self._each(lambda group: list(group.req_to_blocks.get(request_id, ())))

    def get_num_common_prefix_blocks(self, request_id: str) -> list[int]:
        """For each group, how many leading blocks all requests share."""
        if not self.enable_caching:
            return [0] * len(self.single_type_managers)
        return self._each(lambda group: group.get_num_common_prefix_blocks(request_id))

    def _each(self, of: Callable[[SingleTypeKVCacheManager], Any]) -> list[Any]:
        return [of(manager) for manager in self.single_type_managers]


def _is_full(spec: KVCacheSpec) -> bool:
    return isinstance(spec, FullAttentionSpec)
