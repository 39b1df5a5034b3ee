"""What the prefix cache tells the world: which content it has gained and which it has lost.

What is here stands in for the engine's own parts where ``enable_kv_cache_events`` is set; an
engine without events has none of it.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from reference.block_pool import BlockPool
from reference.hybrid_kv_cache_manager import HybridKVCacheManager
from reference.kv_cache_interface import FullAttentionSpec, KVCacheSpec, SlidingWindowSpec
from reference.kv_cache_manager import BlockTable, KVCacheManager
from reference.kv_cache_utils import (
    ExtraKeys,
    generate_block_hash_extra_keys,
    get_block_hash,
    get_group_id,
    view,
)
from reference.workload import WorkloadRequest

#: An event as plain data; ``type`` is ``BlockStored``, ``BlockRemoved`` or ``AllBlocksCleared``.
KVCacheEvent = dict[str, Any]
MEDIUM_GPU = "GPU"


class StoringRequest(Protocol):
    """What is told of the request whose blocks have become full."""

    @property
    def request_id(self) -> str: ...
    @property
    def all_token_ids(self) -> list[int]: ...
    @property
    def block_hashes(self) -> list[bytes]: ...


def external_block_hash(block_hash: bytes) -> int:
    """A hash as it is published: its last eight bytes as a whole number.

    >>> external_block_hash(bytes(31) + b"\\x07")
    7
    """
    return int.from_bytes(block_hash[-8:], "big")


class EventingBlockPool(BlockPool):
    """A block pool that remembers what it has to tell until it is asked.

    ``grouped`` says that the keys of its blocks name a group of layers besides the hash. What it
    loses it notes itself; what it gains others tell it, because a key alone says too little.

    >>> pool = EventingBlockPool(2)
    >>> pool.cache_full_blocks(pool.get_new_blocks(1), [bytes(31) + b"a"], 0, 1)
    >>> pool.free_blocks([1])
    >>> blocks = pool.get_new_blocks(1)
    >>> pool.take_events()
    [{'type': 'BlockRemoved', 'block_hashes': [97], 'medium': 'GPU', 'group_idx': 0}]
    """

    __slots__ = ("_events", "_grouped")

    def __init__(
        self, num_gpu_blocks: int, enable_caching: bool = True, grouped: bool = False
    ) -> None:
        super().__init__(num_gpu_blocks, enable_caching)
        self._grouped = grouped
        self._events: list[KVCacheEvent] = []

    def take_events(self) -> list[KVCacheEvent]:
        """The events since the last call, oldest first."""
        events, self._events = self._events, []
        return events

    def report_stored(self, event: KVCacheEvent) -> None:
        """Notes that blocks have just become findable."""
        self._events.append(event)

    def reset_prefix_cache(self) -> bool:
        done = super().reset_prefix_cache()
        if done:
            self._events.append({"type": "AllBlocksCleared"})
        return done

    def _evict(self, block_id: int) -> None:
        key = self._block_hash[block_id]
        assert key is not None
        super()._evict(block_id)
        block_hash, group_id = (
            (get_block_hash(key), get_group_id(key)) if self._grouped else (key, 0)
        )
        self._events.append(
            {
                "type": "BlockRemoved",
                "block_hashes": [external_block_hash(block_hash)],
                "medium": MEDIUM_GPU,
                "group_idx": group_id,
            }
        )


class StoredEvents:
    """Tells a pool of the full blocks of one group of layers.

    ``requests`` are those of the workload, by id: they know what a block rests on besides tokens.
    """

    def __init__(
        self,
        block_pool: EventingBlockPool,
        requests: dict[str, WorkloadRequest],
        spec: KVCacheSpec,
        group_id: int = 0,
        hashes_per_block: int = 1,
    ) -> None:
        self._block_pool = block_pool
        self._requests = requests
        self._spec = spec
        self._group_id = group_id
        self._hashes_per_block = hashes_per_block

    def report(self, request: StoringRequest, first: int, end: int, stored: Iterable[int]) -> None:
        """One event for a request's blocks ``first`` to ``end - 1``.

        ``stored`` are those of them that can be found now, which need not be all.
        """
        size, of_workload = self._spec.block_size, self._requests[request.request_id]
        hashes = view(request.block_hashes, self._hashes_per_block)
        stored = list(stored)
        window = self._spec.sliding_window if isinstance(self._spec, SlidingWindowSpec) else None
        self._block_pool.report_stored(
            {
                "type": "BlockStored",
                "block_hashes": [external_block_hash(hashes[index]) for index in stored],
                "parent_block_hash": external_block_hash(hashes[first - 1]) if first else None,
                "token_ids": request.all_token_ids[first * size : end * size],
                "block_size": size,
                "lora_name": of_workload.lora_name,
                "extra_keys": [_extra_keys(of_workload, index, size) for index in stored] or None,
                "medium": MEDIUM_GPU,
                "group_idx": self._group_id,
                "kv_cache_spec_kind": self._spec.kind,
                "kv_cache_spec_sliding_window": window,
            }
        )


class EventingKVCacheManager(KVCacheManager):
    """A KV cache manager that tells its pool what it caches."""

    __slots__ = ("_stored_events",)

    def __init__(
        self,
        block_pool: EventingBlockPool,
        block_size: int,
        *args: Any,
        requests: dict[str, WorkloadRequest],
    ) -> None:
        super().__init__(block_pool, block_size, *args)
        self._stored_events = StoredEvents(block_pool, requests, FullAttentionSpec(block_size))

    def _cache_up_to(self, table: BlockTable, request: Any, num_tokens: int) -> None:
        first = table.num_cached_blocks
        super()._cache_up_to(table, request, num_tokens)
        end = table.num_cached_blocks
        if first < end:
            self._stored_events.report(request, first, end, range(first, end))


class EventingHybridKVCacheManager(HybridKVCacheManager):
    """The manager of several groups, each of which tells the pool what it caches."""

    __slots__ = ()

    def __init__(
        self,
        block_pool: EventingBlockPool,
        specs: Sequence[KVCacheSpec],
        *args: Any,
        requests: dict[str, WorkloadRequest],
    ) -> None:
        super().__init__(block_pool, specs, *args)
        for group_id, manager in enumerate(self.coordinator.single_type_managers):
            scale = manager.block_size // self.coordinator.hash_block_size
            events = StoredEvents(block_pool, requests, manager.spec, group_id, scale)
            manager.report_stored = events.report


def _extra_keys(request: WorkloadRequest, index: int, block_size: int) -> list[Any] | None:
    """What a block rests on besides tokens, as plain lists."""
    items = [(item.identifier, item.offset, item.length) for item in request.mm_features]
    start = index * block_size
    keys: ExtraKeys = generate_block_hash_extra_keys(
        items, request.lora_name, request.cache_salt, start, start + block_size
    )
    if keys is None:
        return None
    return [list(key) if isinstance(key, tuple) else key for key in keys]
