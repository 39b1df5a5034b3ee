"""Nothing is remembered of what was cached: the pool is asked, block by block; no free-slot sums.

The need of blocks is found by listing them instead of by a formula.
"""

from collections import Counter
from dataclasses import dataclass, field, fields


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
        self.num_blocks = num_gpu_blocks - 1
        self.held = Counter()
        self.block_of = {}

    def free_order(self):
        return [block for block in range(1, self.num_blocks + 1) if self.held[block] == 0]

    def get_num_free_blocks(self):
        return self.num_blocks - len(+self.held)

    def get_new_blocks(self, num_blocks):
        blocks = self.free_order()[:num_blocks]
        self.block_of = {h: b for h, b in self.block_of.items() if b not in blocks}
        self.held.update(blocks)
        return blocks

    def touch(self, blocks):
        self.held.update(blocks)

    def free_blocks(self, blocks):
        self.held.subtract(blocks)

    def cache_full_blocks(self, blocks, block_hashes, num_cached_blocks, num_full_blocks):
        for i in range(num_cached_blocks, num_full_blocks):
            self.block_of.setdefault(block_hashes[i], blocks[i])

    def get_cached_block(self, block_hash):
        return self.block_of.get(block_hash)

    def reset_prefix_cache(self):
        free = self.get_num_free_blocks() == self.num_blocks
        if free:
            self.block_of.clear()
        return free

    def ref_cnt(self, block):
        return self.held[block]

    def get_usage(self):
        return len(+self.held) / self.num_blocks


class KVCacheManager:
    def __init__(self, block_pool, block_size, max_model_len, enable_caching=True, watermark=0.0):
        self.pool = block_pool
        self.num_blocks = 1 + block_pool.get_num_free_blocks()
        self.block_size = block_size
        self.max_model_len = max_model_len
        self.enable_caching = enable_caching
        self.watermark = watermark
        self.blocks = {}
        self.in_cache = {}  # of each request, one entry for each block of its table
        self.counters = Counter()

    usage = property(lambda self: self.pool.get_usage())

    def free_order(self):
        return list(self.pool.free_order())

    def get_computed_blocks(self, request):
        hit = []
        if self.enable_caching and not request.skip_reading_prefix_cache:
            for block_hash in request.block_hashes:
                if (len(hit) + 1) * self.block_size >= request.num_tokens:
                    break
                block = self.pool.get_cached_block(block_hash)
                if block is None:
                    break
                hit.append(block)
        return hit, len(hit) * self.block_size

    def _leaving(self, table, hit, num_tokens):
        """One entry for each block that would leave the free list."""
        starts = range(0, num_tokens, self.block_size)
        new = list(starts)[len(table) + len(hit) :]
        return new + [block for block in hit if self.pool.ref_cnt(block) == 0]

    def allocate_slots(self, request, num_new_tokens, num_new_computed_tokens=0,
                       new_computed_blocks=(), num_lookahead_tokens=0, delay_cache_blocks=False,
                       full_sequence_must_fit=False, has_scheduled_reqs=False):  # fmt: skip
        if not num_new_tokens:
            raise ValueError(num_new_tokens)
        table = self.blocks.get(request.request_id, [])
        hit = list(new_computed_blocks)
        end = request.num_computed_tokens + num_new_computed_tokens + num_new_tokens
        sizes = [min(end + num_lookahead_tokens, self.max_model_len)]
        if full_sequence_must_fit:
            sizes.append(min(request.num_tokens, self.max_model_len))
        free = self.pool.get_num_free_blocks()
        if request.is_waiting and has_scheduled_reqs:
            free -= int(self.watermark * self.num_blocks)
        if any(len(self._leaving(table, hit, size)) > free for size in sizes):
            return None

        self.pool.touch(hit)
        new = self.pool.get_new_blocks(len(self._leaving(table + hit, [], sizes[0])))
        self.blocks[request.request_id] = table + hit + new
        flags = self.in_cache.get(request.request_id, [])
        self.in_cache[request.request_id] = flags + [True] * len(hit) + [False] * len(new)
        if not delay_cache_blocks:
            self.cache_blocks(request, min(end, request.num_tokens))
        return new

    def cache_blocks(self, request, num_computed_tokens):
        if not self.enable_caching:
            return
        table, flags = self.blocks[request.request_id], self.in_cache[request.request_id]
        for i in range(num_computed_tokens // self.block_size):
            if not flags[i]:
                self.pool.cache_full_blocks(table, request.block_hashes, i, i + 1)
                flags[i] = True

    def free(self, request_id):
        self.in_cache.pop(request_id, None)
        self.pool.free_blocks(self.blocks.pop(request_id, [])[::-1])

    def get_block_ids(self, request_id):
        return self.blocks.get(request_id, []).copy()

    def get_num_common_prefix_blocks(self, running_request_id):
        table = self.blocks[running_request_id]
        num_common = 0
        while self.enable_caching and num_common < len(table):
            if self.pool.ref_cnt(table[num_common]) < len(self.blocks):
                break
            num_common += 1
        return num_common

    def record_prefix_cache_stats(self, request, num_hits):
        if not self.enable_caching or request.skip_reading_prefix_cache:
            return
        kind = "preempted_" if request.num_preemptions else ""
        self.counters += Counter(
            {f"{kind}requests": 1, f"{kind}queries": request.num_tokens, f"{kind}hits": num_hits}
        )

    def make_prefix_cache_stats(self):
        counted, self.counters = self.counters, Counter()
        names = [one.name for one in fields(PrefixCacheStats)]
        return PrefixCacheStats(bool(counted["reset"]), *(counted[name] for name in names[1:]))

    def reset_prefix_cache(self):
        done = self.pool.reset_prefix_cache()
        self.counters["reset"] += done
        return done
