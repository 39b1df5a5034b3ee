"""KV events and offload: tell the world what is cached, and keep more of it than fits.

Two parts that share a subject and no code. The first half of the module tells others of the
prefix cache; the second looks after the CPU's memory, to which blocks are copied.

Read in vLLM 0.30.0: ``vllm/v1/core/block_pool.py``, ``vllm/distributed/kv_events.py``,
``vllm/v1/kv_offload/cpu/manager.py`` and its ``policies/``. One group of layers; an event is a
dict, a hash or a key is bytes.
"""

from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import Any


class ExamplePool:
    """Just enough of a block pool for the examples below.

    When the engine or the grader runs your pool, the real block pool stands here, with these
    methods and its own order of blocks.
    """

    def __init__(self, num_gpu_blocks: int) -> None:
        self.free = list(range(1, num_gpu_blocks))
        self.hash_of: dict[int, bytes] = {}
        self.num_usable = num_gpu_blocks - 1

    def get_new_blocks(self, num_blocks: int) -> list[int]:
        """Hand out free blocks, which lose their hashes; too few are free: ValueError."""
        if num_blocks > len(self.free):
            raise ValueError(f"cannot get {num_blocks} free blocks from the pool")
        taken, self.free = self.free[:num_blocks], self.free[num_blocks:]
        for block in taken:
            self.hash_of.pop(block, None)
        return taken

    def touch(self, block_ids: Sequence[int]) -> None:
        """Add one user to each block."""
        self.free = [block for block in self.free if block not in block_ids]

    def free_blocks(self, ordered_blocks: Sequence[int]) -> None:
        """Take one user from each block; those without users become free, with their hashes."""
        self.free += ordered_blocks

    def cache_full_blocks(
        self,
        block_ids: Sequence[int],
        block_hashes: Sequence[bytes],
        num_cached_blocks: int,
        num_full_blocks: int,
    ) -> None:
        """Give block_ids[i] the hash block_hashes[i], num_cached_blocks <= i < num_full_blocks."""
        for i in range(num_cached_blocks, num_full_blocks):
            self.hash_of[block_ids[i]] = block_hashes[i]

    def block_hash(self, block_id: int) -> bytes | None:
        """The block's hash, or None."""
        return self.hash_of.get(block_id)

    def reset_prefix_cache(self) -> bool:
        """Take all hashes away; False, and nothing done, while a block is in use."""
        if len(self.free) < self.num_usable:
            return False
        self.hash_of.clear()
        return True


def external_block_hash(block_hash: bytes) -> int:
    """The number under which a hash is published: its last 8 bytes, big-endian.

    >>> external_block_hash(bytes(24) + b"12345678") == int.from_bytes(b"12345678", "big")
    True
    >>> external_block_hash(b"\\x01\\x00")
    256
    """
    raise NotImplementedError("external_block_hash: the last eight bytes as one number")


class EventingPool:
    """A block pool that notes what its prefix cache gains and loses.

    Args:
        block_pool: the pool that does the work, with the methods of ``ExamplePool``. It has no
            hashes yet, and nobody else calls it.
        block_size: tokens in a block.

    >>> pool = EventingPool(ExamplePool(4), block_size=2)
    >>> blocks = pool.get_new_blocks(2)
    >>> pool.cache_full_blocks(blocks, [b"a", b"b"], [7, 8, 9, 10], 0, 1)
    >>> pool.cache_full_blocks(blocks, [b"a", b"b"], [7, 8, 9, 10], 1, 2)
    >>> for event in pool.take_events():
    ...     print(event["type"], event["block_hashes"], event["parent_block_hash"])
    BlockStored [97] None
    BlockStored [98] 97
    >>> pool.take_events()
    []
    >>> pool.free_blocks([2, 1])
    >>> pool.take_events()
    []
    """

    def __init__(self, block_pool: Any, block_size: int) -> None:
        self.block_pool = block_pool
        self.block_size = block_size
        self._events: list[dict[str, Any]] = []
        # What the pool has forgotten can no longer be asked of it.
        self._hash_of: dict[int, bytes] = {}

    def get_new_blocks(self, num_blocks: int) -> list[int]:
        """Hand out blocks; for each that had a hash note a ``BlockRemoved``.

        Returns:
            The ids, as the pool gave them.

        Raises:
            ValueError: too few are free; then nothing is noted.

        >>> pool = EventingPool(ExamplePool(2), block_size=2)
        >>> pool.cache_full_blocks(pool.get_new_blocks(1), [b"a"], [7, 8], 0, 1)
        >>> pool.free_blocks([1])
        >>> blocks = pool.get_new_blocks(1)
        >>> pool.take_events()[1:]
        [{'type': 'BlockRemoved', 'block_hashes': [97]}]
        """
        raise NotImplementedError(
            "EventingPool.get_new_blocks: one event for each hash that the pool has just forgotten"
        )

    def touch(self, block_ids: Sequence[int]) -> None:
        """Add one user to each block: a prefix hit."""
        raise NotImplementedError("EventingPool.touch: the pool does it; is it news?")

    def free_blocks(self, ordered_blocks: Sequence[int]) -> None:
        """Take one user from each block, in the order given."""
        raise NotImplementedError("EventingPool.free_blocks: the pool does it; is it news?")

    def cache_full_blocks(
        self,
        block_ids: Sequence[int],
        block_hashes: Sequence[bytes],
        token_ids: Sequence[int],
        num_cached_blocks: int,
        num_full_blocks: int,
    ) -> None:
        """Give a request's newly full blocks their hashes, and note one ``BlockStored`` for all.

        Args:
            block_ids: all blocks of the request.
            block_hashes: ``block_hashes[i]`` belongs to ``block_ids[i]``; at least
                ``num_full_blocks`` of them.
            token_ids: all tokens of the request, at least ``num_full_blocks * block_size``.
            num_cached_blocks: the number of blocks at the start that earlier calls have done.
            num_full_blocks: so many at the start are full now. Nothing is done, or noted, if this
                is not more than ``num_cached_blocks``.

        >>> pool = EventingPool(ExamplePool(4), block_size=2)
        >>> blocks = pool.get_new_blocks(3)
        >>> pool.cache_full_blocks(blocks, [b"a", b"b"], [5, 6, 7, 8, 9], 0, 2)
        >>> [event] = pool.take_events()
        >>> for name, value in event.items():
        ...     print(name, value)
        type BlockStored
        block_hashes [97, 98]
        parent_block_hash None
        token_ids [5, 6, 7, 8]
        block_size 2
        """
        raise NotImplementedError(
            "EventingPool.cache_full_blocks: the pool, the own memory of hashes, one event"
        )

    def reset_prefix_cache(self) -> bool:
        """Take all hashes away, if no block is in use, and note one ``AllBlocksCleared``.

        Returns:
            Whether it was done. If not, nothing is noted.

        >>> pool = EventingPool(ExamplePool(3), block_size=2)
        >>> pool.reset_prefix_cache(), pool.take_events()
        (True, [{'type': 'AllBlocksCleared'}])
        >>> blocks = pool.get_new_blocks(1)
        >>> pool.reset_prefix_cache(), pool.take_events()
        (False, [])
        """
        raise NotImplementedError(
            "EventingPool.reset_prefix_cache: if the pool has done it, forget and tell"
        )

    def take_events(self) -> list[dict[str, Any]]:
        """Return the events since the last call, oldest first, and forget them."""
        raise NotImplementedError("EventingPool.take_events: each event is taken once")

    def __getattr__(self, name: str) -> Any:
        """All else (``get_cached_block``, ``block_hash``, ...) is the pool's own affair."""
        return getattr(self.block_pool, name)


class PrefixIndex:
    """What a router keeps of one engine: which hashes are cached there, from events alone.

    >>> index = PrefixIndex()
    >>> stored = {"type": "BlockStored", "block_hashes": [97, 98]}
    >>> index.apply([stored, stored, {"type": "BlockRemoved", "block_hashes": [98]}])
    >>> index.copies(97), index.copies(98), index.copies(99)
    (2, 1, 0)
    """

    def __init__(self) -> None:
        self._copies: dict[int, int] = {}

    def apply(self, events: Sequence[dict[str, Any]]) -> None:
        """Take events in, in their order. The removal of what is not known is passed over."""
        raise NotImplementedError("PrefixIndex.apply: count up, count down, clear")

    def copies(self, block_hash: int) -> int:
        """Return how many blocks with this hash the engine has; 0 for none."""
        return self._copies.get(block_hash, 0)


class Publisher:
    """Numbers batches of events, and keeps the last ones for those who missed some.

    Args:
        buffer_steps: how many batches are kept, at least 1.

    >>> publisher = Publisher(buffer_steps=2)
    >>> [publisher.publish([{"type": "AllBlocksCleared"}]) for _ in range(3)]
    [0, 1, 2]
    >>> [number for number, events in publisher.replay(0)]
    [1, 2, -1]
    """

    def __init__(self, buffer_steps: int) -> None:
        self._buffer: deque[tuple[int, list[dict[str, Any]]]] = deque(maxlen=buffer_steps)
        self._next_seq = 0

    def publish(self, events: Sequence[dict[str, Any]]) -> int:
        """Send the batch of a step, and keep it.

        Returns:
            The batch's number: 0, then 1, and so on.
        """
        raise NotImplementedError("Publisher.publish: number it, keep it, count on")

    def replay(self, start: int) -> list[tuple[int, list[dict[str, Any]]]]:
        """Return all batches that are kept, from number ``start`` on, then ``(-1, [])``.

        >>> Publisher(buffer_steps=2).replay(0)
        [(-1, [])]
        """
        raise NotImplementedError("Publisher.replay: those that are kept, and the mark of the end")


class Chunk:
    """A slot of the CPU's memory that holds the content of one key.

    Attributes:
        chunk_id: which slot.
        ref_cnt: -1 while it is being stored; 0: ready, and nobody reads it; else so many loads.
    """

    def __init__(self, chunk_id: int) -> None:
        self.chunk_id = chunk_id
        self.ref_cnt = -1


class LRUCachePolicy:
    """All chunks by key, and those that may go in the order in which they will.

    Args:
        cache_capacity: how many chunks there are at most.
    """

    def __init__(self, cache_capacity: int) -> None:
        self.cache_capacity = cache_capacity
        self.chunks: dict[bytes, Chunk] = {}
        # The keys of chunks with ref_cnt 0, the first to go in front; the values mean nothing.
        self.evictable: OrderedDict[bytes, None] = OrderedDict()

    def get(self, key: bytes) -> Chunk | None:
        """The key's chunk, or None. To ask is not to use."""
        return self.chunks.get(key)

    def insert(self, key: bytes, chunk: Chunk) -> None:
        """Take in a chunk whose store begins (ref_cnt -1)."""
        self.chunks[key] = chunk

    def remove(self, key: bytes) -> None:
        """Forget a chunk whose store has failed."""
        del self.chunks[key]

    def mark_evictable(self, key: bytes) -> None:
        """The chunk's ref_cnt has become 0: its store or its last load is done."""
        raise NotImplementedError("LRUCachePolicy.mark_evictable: it is the last to go")

    def mark_non_evictable(self, key: bytes) -> None:
        """The chunk's ref_cnt is about to leave 0: its first load begins."""
        raise NotImplementedError("LRUCachePolicy.mark_non_evictable: it may not go")

    def touch(self, keys: Sequence[bytes]) -> None:
        """Count a use of each key that may go; the first key ends up as the most recent.

        >>> policy = LRUCachePolicy(2)
        >>> for key in (b"a", b"b"):
        ...     policy.insert(key, Chunk(0))
        ...     policy.mark_evictable(key)
        >>> policy.touch([b"a", b"b", b"elsewhere"])
        >>> list(policy.evictable)
        [b'b', b'a']
        """
        raise NotImplementedError("LRUCachePolicy.touch: from the last key to the first")

    def evict(self, n: int, protected: set[bytes]) -> list[tuple[bytes, Chunk]] | None:
        """Take out n chunks that may go, those in ``protected`` excepted.

        Returns:
            Keys and chunks, the first to go in front; None, and nothing has changed, when there
            are fewer.
        """
        raise NotImplementedError(
            "LRUCachePolicy.evict: choose first; take out only when there are enough"
        )

    def clear(self) -> None:
        """Forget everything."""
        self.chunks.clear()
        self.evictable.clear()


class ARCCachePolicy:
    """Chunks used once in ``t1``, used again in ``t2``; ghosts of those evicted in ``b1``, ``b2``.

    Each is in the order of use, the one that may go first in front.

    Args:
        cache_capacity: how many chunks there are at most, and ghosts of each kind.

    Attributes:
        target_t1_size: the size that t1 should have, from 0 to ``cache_capacity`` (float).
    """

    def __init__(self, cache_capacity: int) -> None:
        self.cache_capacity = cache_capacity
        self.target_t1_size = 0.0
        self.t1: OrderedDict[bytes, Chunk] = OrderedDict()
        self.t2: OrderedDict[bytes, Chunk] = OrderedDict()
        self.b1: OrderedDict[bytes, None] = OrderedDict()
        self.b2: OrderedDict[bytes, None] = OrderedDict()

    def get(self, key: bytes) -> Chunk | None:
        """The key's chunk, or None. To ask is not to use; a ghost has no chunk."""
        return self.t1.get(key) or self.t2.get(key)

    def insert(self, key: bytes, chunk: Chunk) -> None:
        """Take in a chunk whose store begins (ref_cnt -1).

        >>> policy = ARCCachePolicy(2)
        >>> policy.b2[b"a"] = None
        >>> policy.insert(b"a", Chunk(0))
        >>> list(policy.t1), list(policy.t2), list(policy.b2)
        ([b'a'], [], [])
        """
        raise NotImplementedError("ARCCachePolicy.insert: into t1, whatever it was; its ghost goes")

    def remove(self, key: bytes) -> None:
        """Forget a chunk whose store has failed."""
        raise NotImplementedError("ARCCachePolicy.remove: a chunk that was never ready is in t1")

    def mark_evictable(self, key: bytes) -> None:
        """The chunk's ref_cnt has become 0. The order of use does not change."""

    def mark_non_evictable(self, key: bytes) -> None:
        """The chunk's ref_cnt is about to leave 0. The order of use does not change."""

    def touch(self, keys: Sequence[bytes]) -> None:
        """Count a use of each key, and learn from the ghosts; the last key comes first.

        >>> policy = ARCCachePolicy(4)
        >>> policy.insert(b"a", Chunk(0))
        >>> policy.touch([b"a"])
        >>> list(policy.t1), list(policy.t2)
        ([b'a'], [])
        >>> policy.get(b"a").ref_cnt = 0
        >>> policy.touch([b"a"])
        >>> list(policy.t1), list(policy.t2)
        ([], [b'a'])
        """
        raise NotImplementedError("ARCCachePolicy.touch: four places where a key can be")

    def evict(self, n: int, protected: set[bytes]) -> list[tuple[bytes, Chunk]] | None:
        """Take out n chunks with ref_cnt 0, those in ``protected`` excepted; ghosts remain.

        Returns:
            Keys and chunks, in the order chosen; None, and nothing has changed, when there are
            fewer.

        >>> policy = ARCCachePolicy(2)
        >>> for key in (b"a", b"b"):
        ...     policy.insert(key, Chunk(0))
        ...     policy.get(key).ref_cnt = 0
        >>> policy.touch([b"a"])
        >>> [key for key, chunk in policy.evict(1, set())], list(policy.b1)
        ([b'b'], [b'b'])
        """
        raise NotImplementedError(
            "ARCCachePolicy.evict: choose one by one, as if those chosen had gone; then let them go"
        )

    def clear(self) -> None:
        """Forget everything, ghosts and target too."""
        for part in (self.t1, self.t2, self.b1, self.b2):
            part.clear()
        self.target_t1_size = 0.0


class CPUOffloadingManager:
    """Which keys lie in the CPU's memory, in which slots, and who reads or writes them now.

    Args:
        num_chunks: slots, with ids from 0 to ``num_chunks - 1``.
        cache_policy: "lru" or "arc".
        store_threshold: from 2 on, a key is stored from its n-th offer on.
        max_tracker_size: the offers of so many keys are counted at most.

    The keys of one call are distinct.

    >>> manager = CPUOffloadingManager(2)
    >>> manager.prepare_store([b"a", b"b"])
    ([b'a', b'b'], [0, 1], [])
    >>> manager.complete_store([b"a", b"b"])
    >>> manager.prepare_load([b"a"])
    [0]
    >>> manager.prepare_store([b"c"])
    ([b'c'], [1], [b'b'])
    >>> [manager.lookup(key) for key in (b"a", b"b", b"c")]
    ['HIT', 'MISS', 'HIT_PENDING']
    """

    def __init__(
        self,
        num_chunks: int,
        cache_policy: str = "lru",
        store_threshold: int = 1,
        max_tracker_size: int = 64_000,
    ) -> None:
        self.num_chunks = num_chunks
        self.store_threshold = store_threshold
        self.max_tracker_size = max_tracker_size
        policies: dict[str, Any] = {"lru": LRUCachePolicy, "arc": ARCCachePolicy}
        self._policy = policies[cache_policy](num_chunks)
        # Ids below _num_allocated have been given out before; those given back are a stack.
        self._num_allocated = 0
        self._free_ids: list[int] = []
        # How often a key was offered, the one offered longest ago in front.
        self._counts: OrderedDict[bytes, int] = OrderedDict()
        self._events: list[dict[str, Any]] = []

    def lookup(self, key: bytes) -> str:
        """Say whether a key is there: "MISS", "HIT_PENDING" or "HIT". Nothing changes.

        >>> CPUOffloadingManager(2).lookup(b"a")
        'MISS'
        """
        raise NotImplementedError("CPUOffloadingManager.lookup: there, and ready?")

    def touch(self, keys: Sequence[bytes]) -> None:
        """Count a use of each key."""
        self._policy.touch(keys)

    def prepare_store(
        self, keys: Sequence[bytes]
    ) -> tuple[list[bytes], list[int], list[bytes]] | None:
        """Make room for those of the keys that are not there; their stores begin.

        Returns:
            The keys to store, their chunk ids, and the keys evicted for them, in the order of
            the policy; three empty lists when there is nothing to store; None, and nothing has
            changed but the counts of offers, when there is not enough room.
        """
        raise NotImplementedError(
            "CPUOffloadingManager.prepare_store: threshold, what is new, room, ids"
        )

    def _new_id(self) -> int:
        """An id for a new chunk; there is one."""
        raise NotImplementedError(
            "CPUOffloadingManager._new_id: one never used before, or else the one given back last"
        )

    def _count_offers(self, keys: Sequence[bytes]) -> None:
        """Count an offer of each key; at most ``max_tracker_size`` keys stay counted."""
        raise NotImplementedError(
            "CPUOffloadingManager._count_offers: those known first; then the new ones, in place of the oldest others"
        )

    def complete_store(self, keys: Sequence[bytes], success: bool = True) -> None:
        """End the stores of these keys; keys that are not being stored are passed over.

        >>> manager = CPUOffloadingManager(1)
        >>> manager.prepare_store([b"a"])
        ([b'a'], [0], [])
        >>> manager.complete_store([b"a"], success=False)
        >>> manager.lookup(b"a"), manager.prepare_store([b"b"])
        ('MISS', ([b'b'], [0], []))
        """
        raise NotImplementedError("CPUOffloadingManager.complete_store: ready, or gone")

    def prepare_load(self, keys: Sequence[bytes]) -> list[int]:
        """Begin a load of each key, all of which are hits: until it ends none of them may go.

        Returns:
            Their chunk ids.
        """
        raise NotImplementedError(
            "CPUOffloadingManager.prepare_load: one load more for each; the first takes it out of those that may go"
        )

    def complete_load(self, keys: Sequence[bytes]) -> None:
        """End one load of each key."""
        raise NotImplementedError(
            "CPUOffloadingManager.complete_load: one load less; after the last one it may go"
        )

    def take_events(self) -> list[dict[str, Any]]:
        """Return what was removed and stored since the last call, and forget it.

        >>> manager = CPUOffloadingManager(1)
        >>> chunks = manager.prepare_store([b"a"])
        >>> manager.complete_store([b"a"])
        >>> chunks = manager.prepare_store([b"b"])
        >>> for event in manager.take_events():
        ...     print(event)
        {'keys': [b'a'], 'removed': False}
        {'keys': [b'a'], 'removed': True}
        """
        events, self._events = self._events, []
        return events

    def reset_cache(self) -> None:
        """Forget all chunks and start with id 0 again; counted offers and events stay."""
        raise NotImplementedError("CPUOffloadingManager.reset_cache: the policy, the ids")
