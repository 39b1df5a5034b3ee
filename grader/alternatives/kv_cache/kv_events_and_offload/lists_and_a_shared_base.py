"""Plain lists of keys; both policies share a base that knows the chunks and how to evict."""

from dataclasses import dataclass


class ExamplePool:
    def __init__(self, num_gpu_blocks):
        self.free = list(range(1, num_gpu_blocks))
        self.named = {}
        self.size = len(self.free)

    def get_new_blocks(self, num_blocks):
        if num_blocks > len(self.free):
            raise ValueError("too few")
        taken = [self.free.pop(0) for _ in range(num_blocks)]
        for block in taken:
            self.named.pop(block, None)
        return taken

    def touch(self, block_ids):
        for block in block_ids:
            if block in self.free:
                self.free.remove(block)

    def free_blocks(self, ordered_blocks):
        self.free.extend(ordered_blocks)

    def cache_full_blocks(self, block_ids, block_hashes, num_cached_blocks, num_full_blocks):
        for i in range(num_cached_blocks, num_full_blocks):
            self.named[block_ids[i]] = block_hashes[i]

    def block_hash(self, block_id):
        return self.named.get(block_id)

    def free_order(self):
        return list(self.free)

    def reset_prefix_cache(self):
        if len(self.free) == self.size:
            self.named = {}
            return True
        return False


def external_block_hash(block_hash):
    return int(block_hash[-8:].hex(), 16)


def stored(hashes, parent, token_ids, block_size):
    return {
        "type": "BlockStored",
        "block_hashes": list(map(external_block_hash, hashes)),
        "parent_block_hash": parent,
        "token_ids": token_ids,
        "block_size": block_size,
    }


class EventingPool:
    """Looks after each allocation which of the blocks it knows have lost their hash."""

    def __init__(self, block_pool, block_size):
        self.block_pool = block_pool
        self.block_size = block_size
        self.events = []
        self.known = [None]

    def __getattr__(self, name):
        return getattr(self.block_pool, name)

    def get_new_blocks(self, num_blocks):
        blocks = self.block_pool.get_new_blocks(num_blocks)
        for block in blocks:
            self.known += [None] * (block + 1 - len(self.known))
            lost, self.known[block] = self.known[block], None
            if lost is not None:
                self.events.append({"type": "BlockRemoved", "block_hashes": [lost]})
        return blocks

    def touch(self, block_ids):
        self.block_pool.touch(block_ids)

    def free_blocks(self, ordered_blocks):
        self.block_pool.free_blocks(ordered_blocks)

    def cache_full_blocks(
        self, block_ids, block_hashes, token_ids, num_cached_blocks, num_full_blocks
    ):
        new = range(num_cached_blocks, num_full_blocks)
        if len(new) == 0:
            return
        self.block_pool.cache_full_blocks(
            block_ids, block_hashes, num_cached_blocks, num_full_blocks
        )
        tokens = []
        for i in new:
            self.known[block_ids[i]] = external_block_hash(block_hashes[i])
            tokens.extend(token_ids[i * self.block_size : (i + 1) * self.block_size])
        parent = None
        if num_cached_blocks:
            parent = external_block_hash(block_hashes[num_cached_blocks - 1])
        hashes = [block_hashes[i] for i in new]
        self.events.append(stored(hashes, parent, tokens, self.block_size))

    def reset_prefix_cache(self):
        if self.block_pool.reset_prefix_cache():
            self.known = [None] * len(self.known)
            self.events.append({"type": "AllBlocksCleared"})
            return True
        return False

    def take_events(self):
        taken = self.events[:]
        self.events.clear()
        return taken


class PrefixIndex:
    """Every copy is an entry of one list."""

    def __init__(self):
        self.entries = []

    def apply(self, events):
        for event in events:
            if event["type"] == "AllBlocksCleared":
                self.entries.clear()
            elif event["type"] == "BlockStored":
                self.entries.extend(event["block_hashes"])
            else:
                for block_hash in event["block_hashes"]:
                    if block_hash in self.entries:
                        self.entries.remove(block_hash)

    def copies(self, block_hash):
        return self.entries.count(block_hash)


class Publisher:
    def __init__(self, buffer_steps):
        self.buffer_steps = buffer_steps
        self.batches = {}
        self.next = 0

    def publish(self, events):
        number, self.next = self.next, self.next + 1
        self.batches[number] = list(events)
        self.batches.pop(number - self.buffer_steps, None)
        return number

    def replay(self, start):
        answer = []
        for number in range(start, self.next):
            if number in self.batches:
                answer.append((number, self.batches[number]))
        answer.append((-1, []))
        return answer


@dataclass
class Chunk:
    chunk_id: int
    ref_cnt: int = -1


class Policy:
    """Chunks by key; a victim is asked for, then leaves."""

    def __init__(self, cache_capacity):
        self.cache_capacity = cache_capacity
        self.clear()

    def clear(self):
        self.chunks = {}

    def get(self, key):
        return self.chunks.get(key)

    def insert(self, key, chunk):
        self.chunks[key] = chunk

    def remove(self, key):
        self.chunks.pop(key)

    def mark_evictable(self, key):
        """Some policies want to know."""

    def mark_non_evictable(self, key):
        """Some policies want to know."""

    def touch(self, keys):
        for number in range(len(keys) - 1, -1, -1):
            self.use(keys[number])

    def evict(self, n, protected):
        chosen = self.choose(n, lambda key: key not in protected)
        if len(chosen) != n:
            return None
        for key in chosen:
            self.leave(key)
        return [(key, self.chunks.pop(key)) for key in chosen]


class LRUCachePolicy(Policy):
    def clear(self):
        super().clear()
        self.evictable = []

    def mark_evictable(self, key):
        self.evictable.append(key)

    def mark_non_evictable(self, key):
        self.evictable.remove(key)

    def use(self, key):
        if key in self.evictable:
            self.evictable.remove(key)
            self.evictable.append(key)

    def choose(self, n, may_go):
        return list(filter(may_go, self.evictable))[:n]

    def leave(self, key):
        self.evictable.remove(key)


class Ghosts(dict):
    """Keys in order, of which the oldest is dropped when there are too many."""

    def add(self, key, limit):
        self[key] = None
        if len(self) > limit:
            del self[next(iter(self))]


class ARCCachePolicy(Policy):
    def clear(self):
        super().clear()
        self.target_t1_size = 0.0
        self.t1, self.t2 = [], []
        self.b1, self.b2 = Ghosts(), Ghosts()

    def insert(self, key, chunk):
        super().insert(key, chunk)
        self.t1.append(key)
        for ghosts in (self.b1, self.b2):
            if key in ghosts:
                del ghosts[key]

    def remove(self, key):
        super().remove(key)
        self.t1.remove(key)

    def use(self, key):
        if key in self.chunks:
            (self.t1 if key in self.t1 else self.t2).remove(key)
            once = self.chunks[key].ref_cnt == -1
            (self.t1 if once else self.t2).append(key)
        elif key in self.b1:
            self.b1[key] = self.b1.pop(key)
            step = len(self.b2) / len(self.b1)
            self.target_t1_size += step if step > 1 else 1
            self.target_t1_size = min(self.target_t1_size, self.cache_capacity)
        elif key in self.b2:
            self.b2[key] = self.b2.pop(key)
            step = len(self.b1) / len(self.b2)
            self.target_t1_size -= step if step > 1 else 1
            self.target_t1_size = max(self.target_t1_size, 0)

    def choose(self, n, may_go):
        once, again = (
            [key for key in part if self.chunks[key].ref_cnt == 0 and may_go(key)]
            for part in (self.t1, self.t2)
        )
        # How many T1 gives by itself before it is as small as it should be.
        surplus = max(0, len(self.t1) - int(self.target_t1_size) + 1)
        first = once[: min(n, surplus)]
        rest = again + once[len(first) :]
        return (first + rest)[:n]

    def leave(self, key):
        part, ghosts = (self.t1, self.b1) if key in self.t1 else (self.t2, self.b2)
        part.remove(key)
        ghosts.add(key, self.cache_capacity)


class CPUOffloadingManager:
    def __init__(self, num_chunks, cache_policy="lru", store_threshold=1, max_tracker_size=64_000):
        kinds = {"lru": LRUCachePolicy, "arc": ARCCachePolicy}
        self._policy = kinds[cache_policy](num_chunks)
        self.num_chunks = num_chunks
        self.store_threshold = store_threshold
        self.max_tracker_size = max_tracker_size
        self.counted = {}
        self.news = []
        self.used_once = 0
        self.stack = []

    def reset_cache(self):
        self._policy.clear()
        self.used_once, self.stack = 0, []

    def lookup(self, key):
        chunk = self._policy.get(key)
        if chunk:
            return ("HIT_PENDING", "HIT")[chunk.ref_cnt > -1]
        return "MISS"

    def touch(self, keys):
        self._policy.touch(keys)

    def prepare_store(self, keys):
        keys = self.ripe(keys) if self.store_threshold > 1 else list(keys)
        missing = [key for key in keys if self._policy.get(key) is None]
        evicted = []
        num_free = self.num_chunks - self.used_once + len(self.stack)
        if num_free < len(missing):
            evicted = self._policy.evict(len(missing) - num_free, frozenset(keys))
            if evicted is None:
                return None
            self.stack.extend(chunk.chunk_id for _, chunk in evicted)
            self.news.append({"keys": [key for key, _ in evicted], "removed": True})
        chunks = [Chunk(self.slot()) for _ in missing]
        for key, chunk in zip(missing, chunks, strict=True):
            self._policy.insert(key, chunk)
        return missing, [chunk.chunk_id for chunk in chunks], [key for key, _ in evicted]

    def slot(self):
        if self.used_once == self.num_chunks:
            return self.stack.pop()
        self.used_once += 1
        return self.used_once - 1

    def ripe(self, keys):
        renewed = {key: self.counted.pop(key) + 1 for key in keys if key in self.counted}
        for key in keys:
            if key in renewed:
                continue
            if len(self.counted) + len(renewed) >= self.max_tracker_size:
                old = next((one for one in self.counted if one not in keys), None)
                if old is None:
                    continue
                del self.counted[old]
            self.counted[key] = 1
        new = {key: self.counted.pop(key) for key in keys if key in self.counted}
        self.counted |= renewed | new
        return [key for key in keys if self.counted.get(key, 0) >= self.store_threshold]

    def complete_store(self, keys, success=True):
        done = [key for key in keys if self.lookup(key) == "HIT_PENDING"]
        for key in done:
            chunk = self._policy.get(key)
            if success:
                chunk.ref_cnt = 0
                self._policy.mark_evictable(key)
            else:
                self._policy.remove(key)
                self.stack.append(chunk.chunk_id)
        if done and success:
            self.news.append({"keys": done, "removed": False})

    def prepare_load(self, keys):
        return [self.load(key) for key in keys]

    def load(self, key):
        chunk = self._policy.get(key)
        if not chunk.ref_cnt:
            self._policy.mark_non_evictable(key)
        chunk.ref_cnt += 1
        return chunk.chunk_id

    def complete_load(self, keys):
        for key in keys:
            chunk = self._policy.get(key)
            chunk.ref_cnt -= 1
            if not chunk.ref_cnt:
                self._policy.mark_evictable(key)

    def take_events(self):
        taken, self.news = self.news, []
        return taken
