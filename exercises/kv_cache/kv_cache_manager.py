"""KV cache manager: which request holds which blocks, and who may have more.

The block pool knows blocks; the scheduler knows requests. The manager stands between
them. It looks up what a request may take over from the prefix cache, decides whether
the rest fits, and puts full blocks where the next request will find them.

Source: vllm/v1/core/kv_cache_manager.py, KVCacheManager, and the parts below it in
kv_cache_coordinator.py and single_type_kv_cache_manager.py (vLLM 0.30.0). This is the
case of one full-attention group. Blocks are ints: their ids.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Request:
    """What the manager reads of a request. It never writes to it.

    Attributes:
        request_id: name of the request.
        num_tokens: tokens known so far, prompt and output; no drafts.
        num_computed_tokens: tokens whose keys and values are in the KV cache already.
        block_hashes: one hash for each full block of the known tokens, in order:
            `num_tokens // block_size` of them.
        num_preemptions: how many times the request has been preempted.
        skip_reading_prefix_cache: True if it must compute its whole prompt itself
            (prompt logprobs were asked for).
        is_waiting: True while its status is WAITING or PREEMPTED, False while RUNNING.
    """

    request_id: str
    num_tokens: int
    num_computed_tokens: int = 0
    block_hashes: list[bytes] = field(default_factory=list)
    num_preemptions: int = 0
    skip_reading_prefix_cache: bool = False
    is_waiting: bool = False


@dataclass
class PrefixCacheStats:
    """Prefix cache counters since they were last taken. Queries and hits count tokens.

    Attributes:
        reset: True if the prefix cache was reset.
        requests, queries, hits: of requests that were never preempted.
        preempted_requests, preempted_queries, preempted_hits: of the others.
    """

    reset: bool = False
    requests: int = 0
    queries: int = 0
    hits: int = 0
    preempted_requests: int = 0
    preempted_queries: int = 0
    preempted_hits: int = 0


class ExamplePool:
    """Just enough of a block pool for the examples below.

    It hands out the lowest free block. When the engine or the grader runs your manager,
    the real block pool stands here, with these methods and its own order of blocks.
    """

    def __init__(self, num_gpu_blocks: int) -> None:
        self.holders = dict.fromkeys(range(1, num_gpu_blocks), 0)
        self.hash_of: dict[int, bytes] = {}

    def get_num_free_blocks(self) -> int:
        """How many blocks nobody holds. Block 0 is the null block and is never free."""
        return len(self.free_order())

    def get_new_blocks(self, num_blocks: int) -> list[int]:
        """Hand out free blocks; what they had in the prefix cache is forgotten."""
        blocks = self.free_order()[:num_blocks]
        for block in blocks:
            self.hash_of.pop(block, None)
        self.touch(blocks)
        return blocks

    def touch(self, blocks: Sequence[int]) -> None:
        """Add one holder to each block; a free block stops being free."""
        for block in blocks:
            self.holders[block] += 1

    def free_blocks(self, ordered_blocks: Sequence[int]) -> None:
        """Take one holder away from each block, in the order given."""
        for block in ordered_blocks:
            self.holders[block] -= 1

    def cache_full_blocks(
        self,
        blocks: Sequence[int],
        block_hashes: Sequence[bytes],
        num_cached_blocks: int,
        num_full_blocks: int,
    ) -> None:
        """Enter blocks[i] under block_hashes[i], num_cached_blocks <= i < num_full_blocks."""
        for i in range(num_cached_blocks, num_full_blocks):
            self.hash_of[blocks[i]] = block_hashes[i]

    def get_cached_block(self, block_hash: bytes) -> int | None:
        """A block with this content, free or held; None if there is none."""
        return next((block for block, held in self.hash_of.items() if held == block_hash), None)

    def reset_prefix_cache(self) -> bool:
        """Forget all hashes; refused (False) while any block is held."""
        if any(self.holders.values()):
            return False
        self.hash_of.clear()
        return True

    def ref_cnt(self, block: int) -> int:
        """How many requests hold the block."""
        return self.holders[block]

    def get_usage(self) -> float:
        """The part of the blocks that is held, from 0.0 to 1.0."""
        return 1 - self.get_num_free_blocks() / len(self.holders)

    def free_order(self) -> list[int]:
        """The free blocks, next to be handed out first."""
        return [block for block, count in self.holders.items() if count == 0]


class KVCacheManager:
    """The tables of all requests, over one block pool.

    Args:
        block_pool: the pool, fresh: nobody holds a block of it yet.
        block_size: tokens in a block.
        max_model_len: most tokens that a request may ever have.
        enable_caching: False switches prefix caching off altogether.
        watermark: the part of all blocks (0.0 to less than 1.0) to be left free
            when a waiting request is admitted beside others.

    Source: vllm/v1/core/kv_cache_manager.py, KVCacheManager.

    >>> manager = KVCacheManager(ExamplePool(8), block_size=4, max_model_len=64)
    >>> a = Request("a", num_tokens=10, block_hashes=[b"0-3", b"0-7"])
    >>> manager.allocate_slots(a, num_new_tokens=10)
    [1, 2, 3]
    >>> manager.get_block_ids("a")
    [1, 2, 3]
    """

    def __init__(
        self,
        block_pool: ExamplePool,
        block_size: int,
        max_model_len: int,
        enable_caching: bool = True,
        watermark: float = 0.0,
    ) -> None:
        self.block_pool = block_pool
        self.block_size = block_size
        self.max_model_len = max_model_len
        self.enable_caching = enable_caching
        self.watermark = watermark
        # The null block counts here, although it is never free.
        self.num_gpu_blocks = block_pool.get_num_free_blocks() + 1
        raise NotImplementedError("KVCacheManager.__init__: the state you need")

    @property
    def usage(self) -> float:
        """The part of the KV cache that is held, from 0.0 to 1.0."""
        return self.block_pool.get_usage()

    def free_order(self) -> list[int]:
        """The free blocks, next to be handed out first."""
        return self.block_pool.free_order()

    def get_computed_blocks(self, request: Request) -> tuple[list[int], int]:
        """Find what the request may take over from the prefix cache.

        Changes nothing: no reference count, no statistics.

        Returns:
            The hit blocks in order, and the tokens in them: a multiple of
            block_size, less than request.num_tokens. `([], 0)` without a hit.

        Source: vllm/v1/core/kv_cache_manager.py, KVCacheManager.get_computed_blocks.

        >>> manager = KVCacheManager(ExamplePool(8), block_size=4, max_model_len=64)
        >>> a = Request("a", num_tokens=8, block_hashes=[b"0-3", b"0-7"])
        >>> manager.get_computed_blocks(a)
        ([], 0)
        >>> manager.allocate_slots(a, num_new_tokens=8)
        [1, 2]
        >>> manager.get_computed_blocks(Request("longer", 9, block_hashes=[b"0-3", b"0-7"]))
        ([1, 2], 8)
        >>> manager.get_computed_blocks(Request("same", 8, block_hashes=[b"0-3", b"0-7"]))
        ([1], 4)
        """
        raise NotImplementedError(
            "KVCacheManager.get_computed_blocks: walk the hashes from the left to the first miss"
        )

    def _prefix_cache_lookup_enabled(self, request: Request) -> bool:
        """Whether the request may read the prefix cache."""
        return self.enable_caching and not request.skip_reading_prefix_cache

    def _get_num_blocks_to_allocate(
        self, request_id: str, num_tokens: int, new_computed_blocks: Sequence[int]
    ) -> int:
        """How many blocks leave the free list if the request grows to num_tokens slots.

        A helper for allocate_slots; you may also do without it.
        """
        raise NotImplementedError(
            "KVCacheManager._get_num_blocks_to_allocate: missing blocks, and hits that are free"
        )

    def allocate_slots(
        self,
        request: Request,
        num_new_tokens: int,
        num_new_computed_tokens: int = 0,
        new_computed_blocks: Sequence[int] = (),
        num_lookahead_tokens: int = 0,
        delay_cache_blocks: bool = False,
        full_sequence_must_fit: bool = False,
        has_scheduled_reqs: bool = False,
    ) -> list[int] | None:
        """Give the request slots for its next tokens, or change nothing at all.

        Args:
            request: the request; num_computed_tokens is as it was before this step.
            num_new_tokens: tokens to compute now, drafts included.
            num_new_computed_tokens: tokens of new_computed_blocks.
            new_computed_blocks: the prefix hit, as get_computed_blocks returned it.
                Only a request that holds no blocks yet has one.
            num_lookahead_tokens: slots wanted beyond the new tokens.
            delay_cache_blocks: True to leave caching to a later cache_blocks.
            full_sequence_must_fit: True to refuse unless all known tokens would fit.
            has_scheduled_reqs: whether other requests are running. Only then does
                the watermark hold, and only for a request that is_waiting.

        Returns:
            The blocks taken now, without the hit; `[]` if those it holds suffice;
            None if it does not fit.

        Raises:
            ValueError: num_new_tokens is 0.

        Source: vllm/v1/core/kv_cache_manager.py, KVCacheManager.allocate_slots.

        >>> manager = KVCacheManager(ExamplePool(6), block_size=4, max_model_len=64)
        >>> a = Request("a", num_tokens=6, block_hashes=[b"0-3"])
        >>> manager.allocate_slots(a, num_new_tokens=6)
        [1, 2]
        >>> b = Request("b", num_tokens=9, block_hashes=[b"0-3", b"0-7"])
        >>> hit, num_hits = manager.get_computed_blocks(b)
        >>> manager.allocate_slots(b, 5, num_hits, hit)
        [3, 4]
        >>> manager.get_block_ids("b")
        [1, 3, 4]
        >>> c = Request("c", num_tokens=8, block_hashes=[b"c0-3", b"c0-7"])
        >>> print(manager.allocate_slots(c, num_new_tokens=8))
        None
        >>> manager.free_order()
        [5]
        """
        raise NotImplementedError(
            "KVCacheManager.allocate_slots: refuse, or touch the hit, take new blocks, cache"
        )

    def cache_blocks(self, request: Request, num_computed_tokens: int) -> None:
        """Enter the request's full blocks into the prefix cache, each of them once.

        Args:
            request: a request that holds blocks.
            num_computed_tokens: its first so many tokens are final: blocks that lie
                wholly inside them are full. Never more than request.num_tokens.

        Source: vllm/v1/core/kv_cache_manager.py, KVCacheManager.cache_blocks.

        >>> manager = KVCacheManager(ExamplePool(8), block_size=4, max_model_len=64)
        >>> a = Request("a", num_tokens=8, block_hashes=[b"0-3", b"0-7"])
        >>> manager.allocate_slots(a, num_new_tokens=8, delay_cache_blocks=True)
        [1, 2]
        >>> longer = Request("longer", num_tokens=9, block_hashes=[b"0-3", b"0-7"])
        >>> manager.get_computed_blocks(longer)
        ([], 0)
        >>> manager.cache_blocks(a, num_computed_tokens=7)
        >>> manager.get_computed_blocks(longer)
        ([1], 4)
        """
        raise NotImplementedError(
            "KVCacheManager.cache_blocks: give the pool the blocks that are newly full"
        )

    def free(self, request_id: str) -> None:
        """Give all blocks of the request back, the last of its table first.

        Nothing happens if it holds none. Their hashes stay in the prefix cache.

        Source: vllm/v1/core/kv_cache_manager.py, KVCacheManager.free.

        >>> manager = KVCacheManager(ExamplePool(8), block_size=4, max_model_len=64)
        >>> manager.allocate_slots(Request("a", num_tokens=9), num_new_tokens=9,
        ...                        delay_cache_blocks=True)
        [1, 2, 3]
        >>> manager.free("a")
        >>> manager.get_block_ids("a"), manager.usage
        ([], 0.0)
        >>> manager.free("a")
        """
        raise NotImplementedError(
            "KVCacheManager.free: forget the request, then free its blocks in reverse"
        )

    def get_block_ids(self, request_id: str) -> list[int]:
        """The block table of a request; `[]` if it holds none.

        Source: vllm/v1/core/kv_cache_manager.py, KVCacheManager.get_block_ids.
        """
        raise NotImplementedError("KVCacheManager.get_block_ids: the request's block table")

    def get_num_common_prefix_blocks(self, running_request_id: str) -> int:
        """Leading blocks of the table that every request with blocks holds as well.

        Args:
            running_request_id: any request that holds blocks.

        Returns:
            Number of blocks; 0 with caching off.

        Source: vllm/v1/core/kv_cache_manager.py,
        KVCacheManager.get_num_common_prefix_blocks.

        >>> manager = KVCacheManager(ExamplePool(8), block_size=4, max_model_len=64)
        >>> hashes = [b"0-3", b"0-7"]
        >>> manager.allocate_slots(Request("a", 8, block_hashes=hashes), 8)
        [1, 2]
        >>> manager.get_num_common_prefix_blocks("a")
        2
        >>> manager.allocate_slots(Request("b", 8, block_hashes=hashes), 4, 4, [1])
        [3]
        >>> manager.get_num_common_prefix_blocks("a")
        1
        """
        raise NotImplementedError(
            "KVCacheManager.get_num_common_prefix_blocks: leading blocks that all hold"
        )

    def record_prefix_cache_stats(self, request: Request, num_hits: int) -> None:
        """Count one admission: request.num_tokens were asked for, num_hits were found.

        A request that may not read the prefix cache is not counted.

        Source: vllm/v1/core/kv_cache_manager.py,
        KVCacheManager.record_prefix_cache_stats.

        >>> manager = KVCacheManager(ExamplePool(8), block_size=4, max_model_len=64)
        >>> manager.record_prefix_cache_stats(Request("a", num_tokens=12), num_hits=8)
        >>> stats = manager.make_prefix_cache_stats()
        >>> stats.requests, stats.queries, stats.hits
        (1, 12, 8)
        >>> manager.make_prefix_cache_stats().queries
        0
        """
        raise NotImplementedError(
            "KVCacheManager.record_prefix_cache_stats: add to the plain or the preempted counters"
        )

    def make_prefix_cache_stats(self) -> PrefixCacheStats:
        """Return what was counted since the last call, and start again from zero.

        Source: vllm/v1/core/kv_cache_manager.py,
        KVCacheManager.make_prefix_cache_stats.
        """
        raise NotImplementedError(
            "KVCacheManager.make_prefix_cache_stats: swap the counters for fresh ones"
        )

    def reset_prefix_cache(self) -> bool:
        """Ask the pool to forget all hashes; False if it refused.

        After a success, the next make_prefix_cache_stats has reset=True.

        Source: vllm/v1/core/kv_cache_manager.py, KVCacheManager.reset_prefix_cache.

        >>> manager = KVCacheManager(ExamplePool(8), block_size=4, max_model_len=64)
        >>> manager.reset_prefix_cache()
        True
        >>> manager.make_prefix_cache_stats().reset
        True
        """
        raise NotImplementedError(
            "KVCacheManager.reset_prefix_cache: pass it on, and remember a success"
        )
