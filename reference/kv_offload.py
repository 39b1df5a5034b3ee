"""Blocks that left the GPU, kept in the CPU's memory: where each lies, and which may go.

A chunk's ``ref_cnt`` is -1 while it is being stored, 0 when it may be evicted, and otherwise the
number of loads that read it.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Protocol

MISS, HIT_PENDING, HIT = "MISS", "HIT_PENDING", "HIT"


class Chunk:
    """A slot of the CPU's memory and what uses it."""

    __slots__ = ("chunk_id", "ref_cnt")

    def __init__(self, chunk_id: int) -> None:
        self.chunk_id = chunk_id
        self.ref_cnt = -1


class CachePolicy(Protocol):
    """Knows all chunks by key, and in which order they may go."""

    def get(self, key: bytes) -> Chunk | None:
        """The key's chunk, or None."""

    def insert(self, key: bytes, chunk: Chunk) -> None:
        """Takes in a chunk that is being stored."""

    def remove(self, key: bytes) -> None:
        """Forgets a chunk whose store failed."""

    def touch(self, key: bytes) -> None:
        """Counts a use."""

    def mark_evictable(self, key: bytes) -> None:
        """A chunk is stored, or its last load is done."""

    def mark_non_evictable(self, key: bytes) -> None:
        """A chunk's first load begins."""

    def evict(self, num_chunks: int, protected: Collection[bytes]) -> list[bytes] | None:
        """Chooses so many victims, or None; they are still there."""

    def drop(self, key: bytes) -> None:
        """A victim goes."""


class LRUCachePolicy:
    """The chunk that became evictable, or was touched since, longest ago goes first."""

    def __init__(self, _capacity: int) -> None:
        self._chunks: dict[bytes, Chunk] = {}
        self._evictable: dict[bytes, None] = {}

    def get(self, key: bytes) -> Chunk | None:
        return self._chunks.get(key)

    def insert(self, key: bytes, chunk: Chunk) -> None:
        self._chunks[key] = chunk

    def remove(self, key: bytes) -> None:
        del self._chunks[key]

    def touch(self, key: bytes) -> None:
        if key in self._evictable:
            _to_the_end(self._evictable, key)

    def mark_evictable(self, key: bytes) -> None:
        self._evictable[key] = None

    def mark_non_evictable(self, key: bytes) -> None:
        del self._evictable[key]

    def evict(self, num_chunks: int, protected: Collection[bytes]) -> list[bytes] | None:
        victims = _first(num_chunks, (key for key in self._evictable if key not in protected))
        return victims if len(victims) == num_chunks else None

    def drop(self, key: bytes) -> None:
        del self._chunks[key], self._evictable[key]


class ARCCachePolicy:
    """Those used once (T1) and those used again (T2), and a target for the size of T1.

    Of each, ghosts (B1, B2) remember who was evicted: to miss one of them moves the target.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.target = 0.0
        self.t1: dict[bytes, Chunk] = {}
        self.t2: dict[bytes, Chunk] = {}
        self.b1: dict[bytes, None] = {}
        self.b2: dict[bytes, None] = {}

    def get(self, key: bytes) -> Chunk | None:
        return self.t1.get(key) or self.t2.get(key)

    def insert(self, key: bytes, chunk: Chunk) -> None:
        self.t1[key] = chunk
        self.b1.pop(key, None)
        self.b2.pop(key, None)

    def remove(self, key: bytes) -> None:
        (self.t1 if key in self.t1 else self.t2).pop(key)

    def touch(self, key: bytes) -> None:
        if key in self.t1:
            chunk = self.t1.pop(key)
            # One that is still being stored was not used again, only offered.
            (self.t1 if chunk.ref_cnt < 0 else self.t2)[key] = chunk
        elif key in self.t2:
            _to_the_end(self.t2, key)
        elif key in self.b1:
            self.target += max(1, len(self.b2) / len(self.b1))
            self.target = min(self.target, self.capacity)
            _to_the_end(self.b1, key)
        elif key in self.b2:
            self.target -= max(1, len(self.b1) / len(self.b2))
            self.target = max(self.target, 0)
            _to_the_end(self.b2, key)

    def mark_evictable(self, key: bytes) -> None:
        pass

    def mark_non_evictable(self, key: bytes) -> None:
        pass

    def evict(self, num_chunks: int, protected: Collection[bytes]) -> list[bytes] | None:
        once, again = self._evictable(self.t1, protected), self._evictable(self.t2, protected)
        num_once, victims = len(self.t1), []
        for _ in range(num_chunks):
            takes_once = once and (num_once >= int(self.target) or not again)
            if not takes_once and not again:
                return None
            num_once -= bool(takes_once)
            victims.append((once if takes_once else again).pop())
        return victims

    def drop(self, key: bytes) -> None:
        ghosts = self.b1 if key in self.t1 else self.b2
        self.remove(key)
        ghosts[key] = None
        if len(ghosts) > self.capacity:
            del ghosts[next(iter(ghosts))]

    def _evictable(self, chunks: dict[bytes, Chunk], protected: Collection[bytes]) -> list[bytes]:
        """Those that may go, the first one last."""
        may_go = [key for key, one in chunks.items() if one.ref_cnt == 0 and key not in protected]
        return may_go[::-1]


POLICIES: dict[str, Callable[[int], CachePolicy]] = {"lru": LRUCachePolicy, "arc": ARCCachePolicy}


class CPUOffloadingManager:
    """Which keys lie in the CPU's memory, in which of ``num_chunks`` slots.

    With a ``store_threshold`` of 2 or more a key is stored from its so-manieth offer on; offers
    of ``max_tracker_size`` keys are remembered.

    >>> manager = CPUOffloadingManager(2)
    >>> manager.prepare_store([b"a", b"b"])
    ([b'a', b'b'], [0, 1], [])
    >>> manager.lookup(b"a"), manager.complete_store([b"a"]), manager.lookup(b"a")
    ('HIT_PENDING', None, 'HIT')
    >>> manager.prepare_store([b"c"])
    ([b'c'], [0], [b'a'])
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
        self._make_policy = POLICIES[cache_policy]
        self._counts: dict[bytes, int] = {}
        self._events: list[dict[str, Any]] = []
        self.reset_cache()

    def reset_cache(self) -> None:
        """Forgets every chunk; offers that were counted stay counted."""
        self.policy = self._make_policy(self.num_chunks)
        # The next one to be given at the end.
        self._free_ids = list(range(self.num_chunks))[::-1]
        self._num_fresh = self.num_chunks

    def lookup(self, key: bytes) -> str:
        """Whether the key is there and can be loaded. Nothing changes."""
        chunk = self.policy.get(key)
        if chunk is None:
            return MISS
        return HIT if chunk.ref_cnt >= 0 else HIT_PENDING

    def prepare_store(
        self, keys: Sequence[bytes]
    ) -> tuple[list[bytes], list[int], list[bytes]] | None:
        """Makes room for those of the keys that are not there.

        Returns:
            The keys to store, their chunks' ids, and the keys that had to go; or None, with
            nothing changed but the count of offers, when too few may go.
        """
        if self.store_threshold >= 2:
            self._count_offer(keys)
            keys = [key for key in keys if self._counts.get(key, 0) >= self.store_threshold]
        new = [key for key in keys if self.policy.get(key) is None]
        victims = self.policy.evict(max(0, len(new) - len(self._free_ids)), set(keys))
        if victims is None:
            return None
        for key in victims:
            self._free(key)
            self.policy.drop(key)
        if victims:
            self._events.append({"keys": victims, "removed": True})
        ids = [self._take_id() for _ in new]
        for key, chunk_id in zip(new, ids, strict=True):
            self.policy.insert(key, Chunk(chunk_id))
        return new, ids, victims

    def complete_store(self, keys: Sequence[bytes], success: bool = True) -> None:
        """Makes stored chunks loadable, or takes those back whose store failed."""
        stored = []
        for key in keys:
            chunk = self.policy.get(key)
            if chunk is None or chunk.ref_cnt >= 0:
                continue
            if success:
                chunk.ref_cnt = 0
                self.policy.mark_evictable(key)
                stored.append(key)
            else:
                self._free(key)
                self.policy.remove(key)
        if stored:
            self._events.append({"keys": stored, "removed": False})

    def prepare_load(self, keys: Sequence[bytes]) -> list[int]:
        """Pins chunks that are to be read; returns their ids."""
        ids = []
        for key in keys:
            chunk = self.policy.get(key)
            assert chunk is not None, f"{key!r} is not there"
            assert chunk.ref_cnt >= 0, f"{key!r} is being stored"
            if chunk.ref_cnt == 0:
                self.policy.mark_non_evictable(key)
            chunk.ref_cnt += 1
            ids.append(chunk.chunk_id)
        return ids

    def complete_load(self, keys: Sequence[bytes]) -> None:
        """Ends a load of each chunk."""
        for key in keys:
            chunk = self.policy.get(key)
            assert chunk is not None, f"{key!r} is not there"
            chunk.ref_cnt -= 1
            if chunk.ref_cnt == 0:
                self.policy.mark_evictable(key)

    def touch(self, keys: Sequence[bytes]) -> None:
        """Counts a use of each key, the last one first: the first is then the most recent."""
        for key in reversed(keys):
            self.policy.touch(key)

    def take_events(self) -> list[dict[str, Any]]:
        """What was stored and removed since the last call."""
        events, self._events = self._events, []
        return events

    def _free(self, key: bytes) -> None:
        chunk = self.policy.get(key)
        assert chunk is not None
        # Ids never used so far come first, so those given back wait below them.
        self._free_ids.insert(len(self._free_ids) - self._num_fresh, chunk.chunk_id)

    def _take_id(self) -> int:
        self._num_fresh = max(0, self._num_fresh - 1)
        return self._free_ids.pop()

    def _count_offer(self, keys: Sequence[bytes]) -> None:
        counts = self._counts
        known = [key for key in keys if key in counts]
        for key in known:
            counts[key] += 1
            _to_the_end(counts, key)
        num_others = len(counts) - len(known)
        for key in keys:
            if key in counts:
                continue
            if len(counts) >= self.max_tracker_size:
                if not num_others:
                    continue
                del counts[next(iter(counts))]
                num_others -= 1
            counts[key] = 1


def _to_the_end(ordered: dict[bytes, Any], key: bytes) -> None:
    ordered[key] = ordered.pop(key)


def _first(count: int, keys: Iterator[bytes]) -> list[bytes]:
    return [key for key, _ in zip(keys, range(count), strict=False)]
