"""Differs: a class for each kind of attention; lookups recurse, layers are dealt like cards."""

from collections import OrderedDict
from dataclasses import dataclass
from functools import reduce
from itertools import cycle
from math import gcd

FULL = "full_attention"
WINDOW = "sliding_window"
CHUNK = "chunked_local_attention"
MAMBA = "mamba"
NULL_BLOCK = 0


def cdiv(a, b):
    return (a + b - 1) // b


def block_table(cached, num_blocks, num_needed):
    first = max(0, num_blocks - num_needed)
    return [NULL_BLOCK] * first + [block or NULL_BLOCK for block in cached[first:num_blocks]]


@dataclass(frozen=True)
class Full:
    block_size: int
    size: int

    def skipped(self, _n):
        return 0

    def hit(self, cached, max_length, unit):
        run = []
        for block in cached[: max_length // self.block_size]:
            if block is None:
                break
            run.append(block)
        while len(run) * self.block_size % unit:
            run.pop()
        return run


class Window(Full):
    def skipped(self, n):
        oldest = n - self.size + 1
        return oldest if oldest > 0 else 0

    def blocks(self):
        return cdiv(self.size - 1, self.block_size)

    def hit(self, cached, max_length, unit):
        end = max_length // unit * unit // self.block_size
        step = unit // self.block_size
        while end > 0:
            tail = cached[max(0, end - self.blocks()) : end]
            if None not in tail:
                return [NULL_BLOCK] * (end - len(tail)) + list(tail)
            end -= step
        return []


class Chunk(Full):
    def skipped(self, n):
        return n - n % self.size

    def hit(self, cached, max_length, unit):
        first = self.skipped(max_length) // self.block_size
        tail = Full.hit(self, cached[first:], max_length - first * self.block_size, unit)
        return [NULL_BLOCK] * first + tail


class Mamba(Full):
    def skipped(self, n):
        return n - 1

    def hit(self, cached, max_length, unit):
        usable = [
            index
            for index, block in enumerate(cached[: max_length // self.block_size])
            if block is not None and not (index + 1) * self.block_size % unit
        ]
        return [NULL_BLOCK] * usable[-1] + [cached[usable[-1]]] if usable else []


KINDS = {FULL: Full, WINDOW: Window, CHUNK: Chunk, MAMBA: Mamba}


def make(group):
    kind, block_size, size = group
    return KINDS[kind](block_size, size)


def get_num_skipped_tokens(kind, num_computed_tokens, size):
    return make((kind, 1, size)).skipped(num_computed_tokens)


def remove_skipped_blocks(table, kind, num_computed_tokens, block_size, size):
    new = list(table)
    freed = []
    index = min(make((kind, block_size, size)).skipped(num_computed_tokens) // block_size, len(new))
    while index and new[index - 1] != NULL_BLOCK:
        index -= 1
        freed.append(new[index])
        new[index] = NULL_BLOCK
    return new, freed


def find_longest_cache_hit(kind, cached, max_length, block_size, size, alignment_tokens):
    table = make((kind, block_size, size)).hit(list(cached), max_length, alignment_tokens)
    return table, len(table) * block_size


def find_longest_common_hit(groups, cached_per_group, max_length):
    unit = reduce(lambda a, b: a * b // gcd(a, b), (group[1] for group in groups))
    together = OrderedDict()
    for group, cached in zip(groups, cached_per_group, strict=True):
        others = together.get(group, cached)
        together[group] = [
            None if one is None or other is None else one
            for one, other in zip(others, cached, strict=True)
        ]
    for group in [group for group in reversed(together) if group[0] == FULL]:
        together.move_to_end(group, last=False)
    first_hits = []

    def settle(length):
        shorter = length
        for (kind, block_size, size), cached in together.items():
            shorter = find_longest_cache_hit(kind, cached, shorter, block_size, size, unit)[1]
            first_hits.append(shorter)
        return length if shorter == length else settle(shorter)

    length = settle(max_length)
    tables = [
        make(group).hit(list(cached), length, unit)
        for group, cached in zip(groups, cached_per_group, strict=True)
    ]
    return tables, length, first_hits[0] - length


def reachable_blocks(
    start_block,
    end_block,
    block_size,
    sliding_window,
    alignment_tokens,
    retention_interval,
    boundaries,
):
    reach = Window(block_size, sliding_window).blocks()
    kept = set()

    def keep(length):
        end = length // block_size
        kept.update(range(end - reach, end))

    interval = alignment_tokens if retention_interval is None else retention_interval
    length = interval
    while interval and length < (end_block + reach) * block_size + interval:
        keep(length)
        length += interval
    if retention_interval is not None:
        for boundary in boundaries:
            keep(boundary // alignment_tokens * alignment_tokens)
    return sorted(kept & set(range(start_block, end_block)))


def group_layers(layers):
    if len({(kind, block_size, size) for _, kind, _, block_size, size in layers}) < 2:
        return [([layer[0] for layer in layers], layers[0][3])]
    page = max(layer[2] for layer in layers)
    hands = {}
    for name, kind, page_bytes, block_size, size in layers:
        like = (kind, page_bytes, block_size, size)
        if kind != MAMBA and not page % page_bytes:
            like = (kind, page, block_size * page // page_bytes, size)
        hands.setdefault(like, []).append(name)
    lengths = sorted(map(len, hands.values()))
    group_size = lengths[-1] if lengths[-1] / lengths[0] < 1.5 else lengths[0]
    groups = []
    for (_, _, block_size, _), names in hands.items():
        piles = [[] for _ in range(cdiv(len(names), group_size))]
        for pile, name in zip(cycle(piles), names, strict=False):
            pile.append(name)
        groups += [(pile, block_size) for pile in piles]
    return groups
