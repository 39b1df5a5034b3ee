"""Order is a time stamp on each key, sorted when somebody must go; events are built late."""

from collections import Counter
from itertools import count


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
    number = 0
    for byte in block_hash[-8:]:
        number = number << 8 | byte
    return number


class EventingPool:
    """Asks the pool before the allocation what stands at the head of its list."""

    def __init__(self, block_pool, block_size):
        self.pool = block_pool
        self.size = block_size
        self.told = []

    def __getattr__(self, name):
        return getattr(self.pool, name)

    def get_new_blocks(self, num_blocks):
        at_stake = [self.pool.block_hash(block) for block in self.pool.free_order()[:num_blocks]]
        blocks = self.pool.get_new_blocks(num_blocks)
        self.told += [("BlockRemoved", [one]) for one in at_stake if one is not None]
        return blocks

    def touch(self, block_ids):
        return self.pool.touch(block_ids)

    def free_blocks(self, ordered_blocks):
        return self.pool.free_blocks(ordered_blocks)

    def cache_full_blocks(
        self, block_ids, block_hashes, token_ids, num_cached_blocks, num_full_blocks
    ):
        news = block_hashes[num_cached_blocks:num_full_blocks]
        if news:
            span = slice(num_cached_blocks * self.size, num_full_blocks * self.size)
            before = block_hashes[:num_cached_blocks][-1:]
            self.pool.cache_full_blocks(block_ids, block_hashes, num_cached_blocks, num_full_blocks)
            self.told.append(("BlockStored", news, before, token_ids[span]))

    def reset_prefix_cache(self):
        done = self.pool.reset_prefix_cache()
        if done:
            self.told.append(("AllBlocksCleared",))
        return done

    def take_events(self):
        events = [self._event(*each) for each in self.told]
        self.told = []
        return events

    def _event(self, kind, hashes=None, before=(), token_ids=()):
        event = {"type": kind}
        if hashes is not None:
            event["block_hashes"] = [external_block_hash(one) for one in hashes]
        if kind == "BlockStored":
            parents = [external_block_hash(one) for one in before]
            event["parent_block_hash"] = parents[0] if parents else None
            event["token_ids"] = list(token_ids)
            event["block_size"] = self.size
        return event


class PrefixIndex:
    def __init__(self):
        self.counter = Counter()

    def apply(self, events):
        for event in events:
            match event["type"]:
                case "BlockStored":
                    self.counter.update(event["block_hashes"])
                case "BlockRemoved":
                    # Only what is positive survives.
                    self.counter -= Counter(event["block_hashes"])
                case _:
                    self.counter = Counter()

    def copies(self, block_hash):
        return self.counter[block_hash]


class Publisher:
    """Keeps batches alone; their numbers follow from how many there were."""

    def __init__(self, buffer_steps):
        self.limit = buffer_steps
        self.total = 0
        self.kept = []

    def publish(self, events):
        self.kept = [*self.kept, list(events)][-self.limit :]
        self.total += 1
        return self.total - 1

    def replay(self, start):
        first = self.total - len(self.kept)
        skipped = max(0, start - first)
        numbered = enumerate(self.kept[skipped:], first + skipped)
        return [*numbered, (-1, [])]


class Chunk:
    def __init__(self, chunk_id):
        self.chunk_id, self.ref_cnt = chunk_id, -1


class LRUCachePolicy:
    def __init__(self, _capacity):
        self.clear()

    def clear(self):
        self.chunks = {}
        self.since = {}
        self.clock = count()

    @property
    def evictable(self):
        return sorted(self.since, key=self.since.__getitem__)

    def get(self, key):
        return self.chunks.get(key)

    def insert(self, key, chunk):
        self.chunks[key] = chunk

    def remove(self, key):
        self.chunks.pop(key)

    def mark_evictable(self, key):
        self.since[key] = next(self.clock)

    def mark_non_evictable(self, key):
        self.since.pop(key)

    def touch(self, keys):
        for key in keys[::-1]:
            if key in self.since:
                self.since[key] = next(self.clock)

    def evict(self, n, protected):
        keys = [key for key in self.evictable if key not in protected][:n]
        if len(keys) == n:
            for key in keys:
                self.since.pop(key)
            return [(key, self.chunks.pop(key)) for key in keys]
        return None


class ARCCachePolicy:
    """Victims leave one by one; when there are too few, all come back."""

    def __init__(self, cache_capacity):
        self.capacity = cache_capacity
        self.clear()

    def clear(self):
        self.target_t1_size = 0.0
        self.t1, self.t2, self.b1, self.b2 = {}, {}, {}, {}

    def get(self, key):
        for part in (self.t1, self.t2):
            if key in part:
                return part[key]
        return None

    def insert(self, key, chunk):
        for part in (self.b1, self.b2):
            part.pop(key, None)
        self.t1[key] = chunk

    def remove(self, key):
        self.t1.pop(key)

    def mark_evictable(self, key):
        pass

    mark_non_evictable = mark_evictable

    def touch(self, keys):
        for key in reversed(keys):
            for part in (self.t1, self.t2, self.b1, self.b2):
                if key in part:
                    self._use(key, part)
                    break

    def _use(self, key, part):
        if part is self.b1 or part is self.b2:
            sign, other = (1, self.b2) if part is self.b1 else (-1, self.b1)
            moved = self.target_t1_size + sign * max(1, len(other) / len(part))
            self.target_t1_size = sorted((0, moved, self.capacity))[1]
        chunk = part.pop(key)
        promoted = part is self.t1 and chunk.ref_cnt > -1
        (self.t2 if promoted else part)[key] = chunk

    def evict(self, n, protected):
        before = [dict(part) for part in (self.t1, self.t2)]
        gone = []
        while len(gone) < n:
            victim = self._victim(protected)
            if victim is None:
                self.t1, self.t2 = before
                return None
            gone.append(victim)
        for key, _chunk, ghosts in gone:
            ghosts[key] = None
            while len(ghosts) > self.capacity:
                del ghosts[next(iter(ghosts))]
        return [(key, chunk) for key, chunk, _ghosts in gone]

    def _victim(self, protected):
        parts = [(self.t1, self.b1), (self.t2, self.b2)]
        if len(self.t1) < int(self.target_t1_size):
            parts.reverse()
        for part, ghosts in parts:
            for key, chunk in part.items():
                if chunk.ref_cnt == 0 and key not in protected:
                    return key, part.pop(key), ghosts
        return None


class CPUOffloadingManager:
    def __init__(self, num_chunks, cache_policy="lru", store_threshold=1, max_tracker_size=64_000):
        self._policy = {"lru": LRUCachePolicy, "arc": ARCCachePolicy}[cache_policy](num_chunks)
        self.num_chunks = num_chunks
        self.threshold = store_threshold
        self.limit = max_tracker_size
        self.offers = []
        self.events = []
        self.reset_cache()

    def reset_cache(self):
        self._policy.clear()
        self.fresh = list(range(self.num_chunks))
        self.returned = []

    def lookup(self, key):
        chunk = self._policy.get(key)
        return "MISS" if chunk is None else "HIT_PENDING" if chunk.ref_cnt < 0 else "HIT"

    def touch(self, keys):
        self._policy.touch(keys)

    def prepare_store(self, keys):
        wanted = [key for key in keys if self._offer_counts(keys, key)] if self._counts() else keys
        new = [key for key in wanted if self.lookup(key) == "MISS"]
        lacking = len(new) - len(self.fresh) - len(self.returned)
        gone = self._policy.evict(lacking, set(wanted)) if lacking > 0 else []
        if gone is None:
            return None
        for _key, chunk in gone:
            self.returned.append(chunk.chunk_id)
        self._tell([key for key, _ in gone], True)
        ids = []
        for key in new:
            ids.append(self.fresh.pop(0) if self.fresh else self.returned.pop())
            self._policy.insert(key, Chunk(ids[-1]))
        return new, ids, [key for key, _ in gone]

    def _counts(self):
        return self.threshold > 1

    def _offer_counts(self, keys, key):
        """Counts the whole offer when asked for its first key."""
        if key == keys[0]:
            known = dict(self.offers)
            again = [(one, known[one] + 1) for one in keys if one in known]
            others = [pair for pair in self.offers if pair[0] not in keys]
            new = [(one, 1) for one in keys if one not in known]
            room = self.limit - len(again)
            new = new[: max(0, room)]
            kept = (
                others[len(others) + len(new) - room :] if len(others) + len(new) > room else others
            )
            self.offers = kept + again + new
        return dict(self.offers).get(key, 0) >= self.threshold

    def complete_store(self, keys, success=True):
        pending = [key for key in keys if self.lookup(key) == "HIT_PENDING"]
        for key in pending:
            chunk = self._policy.get(key)
            if success:
                chunk.ref_cnt += 1
                self._policy.mark_evictable(key)
            else:
                self.returned.append(chunk.chunk_id)
                self._policy.remove(key)
        if success:
            self._tell(pending, False)

    def prepare_load(self, keys):
        for key in keys:
            chunk = self._policy.get(key)
            chunk.ref_cnt += 1
            if chunk.ref_cnt == 1:
                self._policy.mark_non_evictable(key)
        return [self._policy.get(key).chunk_id for key in keys]

    def complete_load(self, keys):
        for key in keys:
            chunk = self._policy.get(key)
            chunk.ref_cnt -= 1
            if not chunk.ref_cnt:
                self._policy.mark_evictable(key)

    def take_events(self):
        taken = self.events
        self.events = []
        return taken

    def _tell(self, keys, removed):
        if keys:
            self.events.append({"keys": keys, "removed": removed})
