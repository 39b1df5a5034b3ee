"""The KV cache manager of a model whose layers differ: block tables for each group of layers."""

from collections.abc import Callable, Sequence
from typing import Protocol

from reference.base_kv_cache_manager import BaseKVCacheManager, CacheableRequest
from reference.block_pool import BlockPool
from reference.kv_cache_coordinator import HybridKVCacheCoordinator
from reference.kv_cache_interface import KVCacheSpec


class GroupableRequest(CacheableRequest, Protocol):
    """What this manager reads of a request besides.

    ``num_in_flight_tokens`` are scheduled, and their model has not come back.
    """

    @property
    def num_prompt_tokens(self) -> int: ...
    @property
    def num_in_flight_tokens(self) -> int: ...


class HybridKVCacheManager(BaseKVCacheManager):
    """Block tables of all requests over one pool, a list for each group of ``specs``.

    A table has a null block for each block that its group's attention reads no more.

    >>> from reference.kv_cache_interface import FullAttentionSpec, SlidingWindowSpec
    >>> from reference.request import Request
    >>> from reference.sampling_params import SamplingParams
    >>> specs = [FullAttentionSpec(4), SlidingWindowSpec(4, 5)]
    >>> manager = HybridKVCacheManager(BlockPool(16), specs, 32, 32)
    >>> request = Request("a", list(range(12)), SamplingParams(max_tokens=4))
    >>> manager.allocate_slots(request, 8, delay_cache_blocks=True)
    [[1, 2], [3, 4]]
    >>> request.num_computed_tokens = 8
    >>> manager.allocate_slots(request, 4, delay_cache_blocks=True)
    [[3], [5]]
    >>> manager.get_block_ids("a")
    [[1, 2, 3], [0, 4, 5]]
    """

    __slots__ = ("_shared_prefix_boundaries", "coordinator")

    def __init__(
        self,
        block_pool: BlockPool,
        specs: Sequence[KVCacheSpec],
        max_model_len: int,
        max_in_flight_tokens: int,
        enable_caching: bool = True,
        watermark: float = 0.0,
        retention_interval: int | None = 0,
        coordinator: Callable[..., HybridKVCacheCoordinator] = HybridKVCacheCoordinator,
    ) -> None:
        super().__init__(block_pool, max_model_len, enable_caching, watermark)
        self.coordinator = coordinator(
            *(specs, block_pool, max_model_len, max_in_flight_tokens, enable_caching),
            retention_interval,
        )
        self._shared_prefix_boundaries: dict[str, int] = {}

    def get_computed_blocks(self, request: CacheableRequest) -> tuple[list[list[int]], int]:
        """The cached blocks that the request starts with, and the tokens in them.

        Where one group alone has more of the prefix, its length is remembered: the request's own
        blocks are kept there, so that the next one with that prefix finds it whole.
        """
        self._shared_prefix_boundaries.pop(request.request_id, None)
        if not self._may_look_up(request):
            return [], 0
        blocks, length, num_uncached = self.coordinator.find_longest_cache_hit(
            request.block_hashes, request.num_tokens - 1
        )
        if num_uncached:
            self._shared_prefix_boundaries[request.request_id] = length + num_uncached
        return blocks if length else [], length

    def allocate_slots(
        self,
        request: GroupableRequest,
        num_new_tokens: int,
        num_new_computed_tokens: int = 0,
        new_computed_blocks: Sequence[Sequence[int]] = (),
        num_lookahead_tokens: int = 0,
        delay_cache_blocks: bool = False,
        full_sequence_must_fit: bool = False,
        has_scheduled_reqs: bool = False,
    ) -> list[list[int]] | None:
        """Gives the request slots for ``num_new_tokens`` more tokens; as ``KVCacheManager``'s.

        Blocks that are read no more are freed first, and stay free when too few are.

        Returns:
            The new blocks of each group, hits not included, or an empty list when no group got
            any; or None when too few are free.

        Raises:
            ValueError: ``num_new_tokens`` is 0.
        """
        if num_new_tokens == 0:
            raise ValueError("num_new_tokens must be at least 1")
        request_id, coordinator = request.request_id, self.coordinator
        num_computed = request.num_computed_tokens + num_new_computed_tokens
        num_free = -self._num_reserved(request, has_scheduled_reqs)
        if full_sequence_must_fit:
            num_missing = coordinator.get_num_blocks_to_allocate(
                request_id,
                min(request.num_tokens, self.max_model_len),
                new_computed_blocks,
                num_computed,
                apply_admission_cap=True,
            )
            if num_missing > num_free + self.block_pool.get_num_free_blocks():
                return None
        coordinator.remove_skipped_blocks(
            request_id, max(0, num_computed - request.num_in_flight_tokens)
        )
        num_slots = min(num_computed + num_new_tokens + num_lookahead_tokens, self.max_model_len)
        num_missing = coordinator.get_num_blocks_to_allocate(
            request_id, num_slots, new_computed_blocks, num_computed
        )
        if num_missing > num_free + self.block_pool.get_num_free_blocks():
            return None
        if new_computed_blocks:
            # In all groups before any block is allocated: it could be one of the hits.
            coordinator.allocate_new_computed_blocks(request_id, new_computed_blocks, num_computed)
        new_blocks = coordinator.allocate_new_blocks(request_id, num_slots)
        if not delay_cache_blocks:
            self.cache_blocks(request, min(num_computed + num_new_tokens, request.num_tokens))
        return new_blocks if any(new_blocks) else []

    def cache_blocks(self, request: GroupableRequest, num_computed_tokens: int) -> None:
        """Puts full blocks of these tokens into the prefix cache, those that a hit could need."""
        if self.enable_caching:
            boundary = self._shared_prefix_boundaries.get(request.request_id, 0)
            self.coordinator.cache_blocks(request, num_computed_tokens, boundary)

    def free(self, request_id: str) -> None:
        """Gives all blocks of a request back, group by group, the last one of each first."""
        self._shared_prefix_boundaries.pop(request_id, None)
        self.coordinator.free(request_id)

    def get_block_ids(self, request_id: str) -> list[list[int]]:
        """The request's block tables."""
        return self.coordinator.get_blocks(request_id)

    def get_num_common_prefix_blocks(self, request_id: str) -> list[int]:
        """For each group, how many leading blocks all requests with blocks share."""
        return self.coordinator.get_num_common_prefix_blocks(request_id)
