"""Each request has a table object that knows its size; statistics are added up when asked for."""

from dataclasses import dataclass, field
from itertools import takewhile


@dataclass
class Request:
    request_id: str
    num_tokens: int
    num_computed_tokens: int = 0
    block_hashes: list[bytes] = field(default_factory=list)
    num_preemptions: int = 0
    skip_reading_prefix_cache: bool = False
    is_waiting: bool = False


@dataclass
class PrefixCacheStats:
    reset: bool = False
    requests: int = 0
    queries: int = 0
    hits: int = 0
    preempted_requests: int = 0
    preempted_queries: int = 0
    preempted_hits: int = 0


class ExamplePool:
    def __init__(self, num_gpu_blocks):
        self.users = dict.fromkeys(range(1, num_gpu_blocks), 0)
        self.names = {}

    def free_order(self):
        return [block for block in self.users if not self.users[block]]

    def get_num_free_blocks(self):
        return len(self.free_order())

    def get_new_blocks(self, num_blocks):
        taken = self.free_order()[:num_blocks]
        for block in taken:
            self.names.pop(block, None)
            self.users[block] = 1
        return taken

    def touch(self, blocks):
        for block in blocks:
            self.users[block] += 1

    def free_blocks(self, blocks):
        for block in blocks:
            self.users[block] -= 1

    def cache_full_blocks(self, blocks, block_hashes, num_cached_blocks, num_full_blocks):
        fresh = slice(num_cached_blocks, num_full_blocks)
        self.names.update(zip(blocks[fresh], block_hashes[fresh], strict=True))

    def get_cached_block(self, block_hash):
        found = [block for block, name in self.names.items() if name == block_hash]
        return found[0] if found else None

    def reset_prefix_cache(self):
        if self.get_num_free_blocks() < len(self.users):
            return False
        self.names = {}
        return True

    def ref_cnt(self, block):
        return self.users[block]

    def get_usage(self):
        return 1 - self.get_num_free_blocks() / len(self.users)


class Table:
    def __init__(self):
        self.blocks = []
        self.named = 0

    def missing(self, slots, size):
        return max((slots + size - 1) // size - len(self.blocks), 0)


class KVCacheManager:
    def __init__(self, block_pool, block_size, max_model_len, enable_caching=True, watermark=0.0):
        self.pool = block_pool
        self.size = block_size
        self.longest = max_model_len
        self.caches = enable_caching
        self.spared = int(watermark * (block_pool.get_num_free_blocks() + 1))
        self.tables = {}
        self.admissions = []
        self.was_reset = False

    @property
    def usage(self):
        return self.pool.get_usage()

    def free_order(self):
        return self.pool.free_order()

    def _reads(self, request):
        return self.caches and not request.skip_reading_prefix_cache

    def get_computed_blocks(self, request):
        if not self._reads(request):
            return [], 0
        most = (request.num_tokens - 1) // self.size
        found = map(self.pool.get_cached_block, request.block_hashes[:most])
        blocks = list(takewhile(lambda block: block is not None, found))
        return blocks, self.size * len(blocks)

    def allocate_slots(
        self,
        request,
        num_new_tokens,
        num_new_computed_tokens=0,
        new_computed_blocks=(),
        num_lookahead_tokens=0,
        delay_cache_blocks=False,
        full_sequence_must_fit=False,
        has_scheduled_reqs=False,
    ):
        if num_new_tokens == 0:
            raise ValueError("a request without new tokens needs no slots")
        table = self.tables.get(request.request_id) or Table()
        end = request.num_computed_tokens + num_new_computed_tokens + num_new_tokens
        slots = min(end + num_lookahead_tokens, self.longest)
        largest = slots
        if full_sequence_must_fit:
            largest = max(slots, min(request.num_tokens, self.longest))
        spared = self.spared if request.is_waiting and has_scheduled_reqs else 0
        hit = list(new_computed_blocks)
        # As if the hit were in the table already; what of it is free leaves the free list, too.
        leaving = max(table.missing(largest, self.size) - len(hit), 0)
        leaving += [self.pool.ref_cnt(block) for block in hit].count(0)
        if leaving + spared > self.pool.get_num_free_blocks():
            return None
        self.tables[request.request_id] = table
        if hit:
            self.pool.touch(hit)
            table.blocks = hit
            table.named = len(hit)
        fresh = []
        if missing := table.missing(slots, self.size):
            fresh = self.pool.get_new_blocks(missing)
            table.blocks = table.blocks + fresh
        if not delay_cache_blocks:
            self.cache_blocks(request, min(end, request.num_tokens))
        return fresh

    def cache_blocks(self, request, num_computed_tokens):
        table = self.tables[request.request_id]
        full = num_computed_tokens // self.size
        if self.caches and full > table.named:
            self.pool.cache_full_blocks(table.blocks, request.block_hashes, table.named, full)
            table.named = full

    def free(self, request_id):
        if request_id in self.tables:
            self.pool.free_blocks(list(reversed(self.tables.pop(request_id).blocks)))

    def get_block_ids(self, request_id):
        table = self.tables.get(request_id)
        return [] if table is None else [*table.blocks]

    def get_num_common_prefix_blocks(self, running_request_id):
        if not self.caches:
            return 0
        blocks = self.tables[running_request_id].blocks
        tables = [table.blocks for table in self.tables.values()]
        return sum(1 for _ in takewhile(lambda block: all(block in t for t in tables), blocks))

    def record_prefix_cache_stats(self, request, num_hits):
        if self._reads(request):
            self.admissions.append((request.num_preemptions > 0, request.num_tokens, num_hits))

    def make_prefix_cache_stats(self):
        counted = [
            number
            for preempted in (False, True)
            for rows in [[row for row in self.admissions if row[0] is preempted]]
            for number in (len(rows), sum(row[1] for row in rows), sum(row[2] for row in rows))
        ]
        stats = PrefixCacheStats(self.was_reset, *counted)
        self.admissions, self.was_reset = [], False
        return stats

    def reset_prefix_cache(self):
        done = self.pool.reset_prefix_cache()
        self.was_reset = self.was_reset or done
        return done
