"""Which request holds which blocks, what it may take over from others, and what still fits."""

from collections.abc import Sequence

from reference.base_kv_cache_manager import BaseKVCacheManager, CacheableRequest
from reference.block_pool import BlockPool


class BlockTable:
    """One request's blocks in order, and how many of them are in the prefix cache."""

    __slots__ = ("block_ids", "num_cached_blocks")

    def __init__(self) -> None:
        self.block_ids: list[int] = []
        self.num_cached_blocks = 0


class KVCacheManager(BaseKVCacheManager):
    """Block tables of all requests over one pool, for one group of full-attention layers.

    ``watermark`` is the share of all blocks that an admission must leave free while others run.

    >>> from reference.request import Request
    >>> from reference.sampling_params import SamplingParams
    >>> manager = KVCacheManager(BlockPool(8), block_size=4, max_model_len=32)
    >>> request = Request("a", [1, 2, 3, 4, 5], SamplingParams(max_tokens=4))
    >>> manager.allocate_slots(request, 5, delay_cache_blocks=True)
    [1, 2]
    """

    __slots__ = ("_tables", "block_size")

    def __init__(
        self,
        block_pool: BlockPool,
        block_size: int,
        max_model_len: int,
        enable_caching: bool = True,
        watermark: float = 0.0,
    ) -> None:
        super().__init__(block_pool, max_model_len, enable_caching, watermark)
        self.block_size = block_size
        self._tables: dict[str, BlockTable] = {}

    def get_computed_blocks(self, request: CacheableRequest) -> tuple[list[int], int]:
        """The cached blocks that the request starts with, and the tokens in them.

        At most ``num_tokens - 1`` tokens: the last one must be computed for its logits. Nothing is
        changed or counted, because the request may not be admitted yet.
        """
        blocks: list[int] = []
        if not self._may_look_up(request):
            return blocks, 0
        get_cached_block = self.block_pool.get_cached_block
        max_hit_blocks = (request.num_tokens - 1) // self.block_size
        for block_hash in request.block_hashes[:max_hit_blocks]:
            block = get_cached_block(block_hash)
            if block is None:
                break
            blocks.append(block)
        return blocks, len(blocks) * self.block_size

    def allocate_slots(
        self,
        request: CacheableRequest,
        num_new_tokens: int,
        num_new_computed_tokens: int = 0,
        new_computed_blocks: Sequence[int] = (),
        num_lookahead_tokens: int = 0,
        delay_cache_blocks: bool = False,
        full_sequence_must_fit: bool = False,
        has_scheduled_reqs: bool = False,
    ) -> list[int] | None:
        """Gives the request slots for ``num_new_tokens`` more tokens.

        ``new_computed_blocks`` with ``num_new_computed_tokens`` are a first admission's hits.
        ``full_sequence_must_fit`` asks for room for all its known tokens, ``has_scheduled_reqs``
        for the watermark besides.

        Returns:
            The new blocks, hits not included, often none; or None, with nothing changed, when too
            few are free.

        Raises:
            ValueError: ``num_new_tokens`` is 0.
        """
        if num_new_tokens == 0:
            raise ValueError("num_new_tokens must be at least 1")
        table = self._tables.get(request.request_id) or BlockTable()
        num_computed = request.num_computed_tokens + num_new_computed_tokens + num_new_tokens
        # Conditional expressions, not min(): every request of every step comes this way.
        num_slots = num_computed + num_lookahead_tokens
        num_slots = num_slots if num_slots < self.max_model_len else self.max_model_len
        # A running request mostly has room in its last block: nothing to ask of the pool.
        new_blocks: list[int] = []
        must_ask = new_computed_blocks or full_sequence_must_fit or has_scheduled_reqs
        if must_ask or num_slots > len(table.block_ids) * self.block_size:
            whole = min(request.num_tokens, self.max_model_len) if full_sequence_must_fit else 0
            num_missing = self._num_missing(max(num_slots, whole), table, new_computed_blocks)
            if num_missing > self._num_available(request, new_computed_blocks, has_scheduled_reqs):
                return None
            new_blocks = self._extend(request, table, new_computed_blocks, num_slots)

        if self.enable_caching and not delay_cache_blocks:
            # Drafts may be rejected, so only known tokens are cached.
            num_known = request.num_tokens
            num_tokens = num_computed if num_computed < num_known else num_known
            if num_tokens // self.block_size > table.num_cached_blocks:
                self._cache_up_to(table, request, num_tokens)
        return new_blocks

    def cache_blocks(self, request: CacheableRequest, num_computed_tokens: int) -> None:
        """Puts the request's full blocks of these tokens into the prefix cache."""
        if self.enable_caching:
            self._cache_up_to(self._tables[request.request_id], request, num_computed_tokens)

    def free(self, request_id: str) -> None:
        """Gives all blocks of a request back, the last one first; without blocks, does nothing.

        A block is worth nothing without those before it, so the end of a chain goes first.
        """
        table = self._tables.pop(request_id, None)
        if table is not None:
            self.block_pool.free_blocks(reversed(table.block_ids))

    def get_block_ids(self, request_id: str) -> list[int]:
        """The request's block table; empty when it holds none."""
        table = self._tables.get(request_id)
        return list(table.block_ids) if table is not None else []

    def get_num_common_prefix_blocks(self, request_id: str) -> int:
        """How many leading blocks of this request all requests with blocks share."""
        table = self._tables.get(request_id)
        num_shared = 0
        if table is not None and self.enable_caching:
            num_holders = len(self._tables)
            for block in table.block_ids:
                if self.block_pool.ref_cnt(block) != num_holders:
                    break
                num_shared += 1
        return num_shared

    def _num_missing(self, num_slots: int, table: BlockTable, hits: Sequence[int]) -> int:
        """Blocks that are lacking for so many slots."""
        num_blocks = (num_slots + self.block_size - 1) // self.block_size
        num_missing = num_blocks - len(table.block_ids) - len(hits)
        return num_missing if num_missing > 0 else 0

    def _num_available(
        self, request: CacheableRequest, hits: Sequence[int], has_scheduled_reqs: bool
    ) -> int:
        """Free blocks that the request may have besides its hits, free hits not counted."""
        num_free = self.block_pool.get_num_free_blocks()
        num_free -= list(map(self.block_pool.ref_cnt, hits)).count(0)
        return num_free - self._num_reserved(request, has_scheduled_reqs)

    def _extend(
        self, request: CacheableRequest, table: BlockTable, hits: Sequence[int], num_slots: int
    ) -> list[int]:
        """Adds the hits and as many new blocks as so many slots need; returns the new ones."""
        num_missing = self._num_missing(num_slots, table, hits)
        self._tables[request.request_id] = table
        if hits:
            # Before any block is allocated: it could be one of the hits.
            self.block_pool.touch(hits)
            table.block_ids.extend(hits)
            table.num_cached_blocks = len(hits)
        if not num_missing:
            return []
        new_blocks = self.block_pool.get_new_blocks(num_missing)
        table.block_ids.extend(new_blocks)
        return new_blocks

    def _cache_up_to(self, table: BlockTable, request: CacheableRequest, num_tokens: int) -> None:
        num_full_blocks = num_tokens // self.block_size
        if num_full_blocks > table.num_cached_blocks:
            self.block_pool.cache_full_blocks(
                table.block_ids, request.block_hashes, table.num_cached_blocks, num_full_blocks
            )
            table.num_cached_blocks = num_full_blocks
