"""What every KV cache manager has: a pool, a watermark and the counters of the prefix cache."""

from abc import ABC, abstractmethod
from typing import Any, Protocol

from reference.block_pool import BlockPool
from reference.stats import PrefixCacheStats


class CacheableRequest(Protocol):
    """What the manager reads of a request.

    ``block_hashes`` has one hash for each full block of its tokens; ``is_waiting`` tells whether
    it is to be admitted or runs already.
    """

    @property
    def request_id(self) -> str: ...
    @property
    def num_tokens(self) -> int: ...
    @property
    def num_computed_tokens(self) -> int: ...
    @property
    def block_hashes(self) -> list[bytes]: ...
    @property
    def num_preemptions(self) -> int: ...
    @property
    def skip_reading_prefix_cache(self) -> bool: ...
    @property
    def is_waiting(self) -> bool: ...


class BaseKVCacheManager(ABC):
    """The scheduler's view of the KV cache.

    A request's blocks are one list, or where layers are grouped one list for each group; the
    scheduler hands them on unread. ``watermark`` is the share of all blocks that an admission must
    leave free while others run.
    """

    __slots__ = (
        *("_prefix_cache_stats", "_watermark_blocks", "block_pool", "enable_caching"),
        "max_model_len",
    )

    def __init__(
        self, block_pool: BlockPool, max_model_len: int, enable_caching: bool, watermark: float
    ) -> None:
        self.block_pool = block_pool
        self.max_model_len = max_model_len
        self.enable_caching = enable_caching
        # All blocks count, the null block too, which is never free.
        self._watermark_blocks = int(watermark * (block_pool.get_num_free_blocks() + 1))
        self._prefix_cache_stats = PrefixCacheStats()

    @abstractmethod
    def get_computed_blocks(self, request: Any) -> tuple[Any, int]:
        """The cached blocks that the request starts with, and the tokens in them."""

    @abstractmethod
    def allocate_slots(
        self,
        request: Any,
        num_new_tokens: int,
        num_new_computed_tokens: int = 0,
        new_computed_blocks: Any = (),
        num_lookahead_tokens: int = 0,
        delay_cache_blocks: bool = False,
        full_sequence_must_fit: bool = False,
        has_scheduled_reqs: bool = False,
    ) -> Any:
        """Gives the request slots; returns the new blocks, or None when too few are free."""

    @abstractmethod
    def cache_blocks(self, request: Any, num_computed_tokens: int) -> None:
        """Puts the request's full blocks of these tokens into the prefix cache."""

    @abstractmethod
    def free(self, request_id: str) -> None:
        """Gives all blocks of a request back; without blocks, does nothing."""

    @abstractmethod
    def get_block_ids(self, request_id: str) -> Any:
        """The request's blocks."""

    @abstractmethod
    def get_num_common_prefix_blocks(self, request_id: str) -> Any:
        """How many leading blocks of this request all requests with blocks share."""

    @property
    def usage(self) -> float:
        """The share of blocks in use, from 0.0 to 1.0."""
        return self.block_pool.get_usage()

    def free_order(self) -> list[int]:
        """The free list, next block first."""
        return self.block_pool.free_order()

    def record_prefix_cache_stats(self, request: CacheableRequest, num_hits: int) -> None:
        """Counts an admission whose lookup found ``num_hits`` tokens."""
        if self._may_look_up(request):
            preempted = request.num_preemptions > 0
            self._prefix_cache_stats.record(request.num_tokens, num_hits, preempted)

    def make_prefix_cache_stats(self) -> PrefixCacheStats:
        """The counters since the last call."""
        stats = self._prefix_cache_stats
        self._prefix_cache_stats = PrefixCacheStats()
        return stats

    def reset_prefix_cache(self) -> bool:
        """Empties the prefix cache; False, and nothing done, while any block is in use."""
        if not self.block_pool.reset_prefix_cache():
            return False
        self._prefix_cache_stats.reset = True
        return True

    def _may_look_up(self, request: CacheableRequest) -> bool:
        return self.enable_caching and not request.skip_reading_prefix_cache

    def _num_reserved(self, request: CacheableRequest, has_scheduled_reqs: bool) -> int:
        """Blocks that must be left free besides those that the request takes."""
        return self._watermark_blocks if has_scheduled_reqs and request.is_waiting else 0
