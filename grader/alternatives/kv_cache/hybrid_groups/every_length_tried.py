"""Differs: hits are found by trying each length, from the longest down, against one rule."""

import math

FULL, WINDOW = "full_attention", "sliding_window"
CHUNK, MAMBA = "chunked_local_attention", "mamba"
NULL_BLOCK = 0


def cdiv(a, b):
    return math.ceil(a / b)


def block_table(cached, num_blocks, num_needed):
    first = max(0, num_blocks - num_needed)
    return [NULL_BLOCK] * first + [block or NULL_BLOCK for block in cached[first:num_blocks]]


def get_num_skipped_tokens(kind, num_computed_tokens, size):
    oldest_read = {
        FULL: lambda _position: 0,
        WINDOW: lambda position: max(position - (size - 1), 0),
        CHUNK: lambda position: position - position % size,
        MAMBA: lambda position: position - 1,
    }
    return oldest_read[kind](num_computed_tokens)


def remove_skipped_blocks(table, kind, num_computed_tokens, block_size, size):
    count = get_num_skipped_tokens(kind, num_computed_tokens, size) // block_size
    skipped, needed = table[:count], table[count:]
    gone_before = max((i + 1 for i, block in enumerate(skipped) if block == NULL_BLOCK), default=0)
    freed = skipped[gone_before:]
    return [*skipped[:gone_before], *[NULL_BLOCK] * len(freed), *needed], [*reversed(freed)]


def first_needed(kind, num_blocks, block_size, size):
    """The first block that must be cached for a prefix of so many."""
    if kind == FULL:
        return 0
    if kind == MAMBA:
        return max(0, num_blocks - 1)
    length = num_blocks * block_size
    if kind == CHUNK:
        return length // size * size // block_size
    return max(0, length - size + 1) // block_size


def fits(kind, cached, num_blocks, block_size, size):
    first = first_needed(kind, num_blocks, block_size, size)
    return all(block is not None for block in cached[first:num_blocks])


def find_longest_cache_hit(kind, cached, max_length, block_size, size, alignment_tokens):
    length = max_length - max_length % alignment_tokens
    while not fits(kind, cached, length // block_size, block_size, size):
        length -= alignment_tokens
    num_blocks = length // block_size
    first = first_needed(kind, num_blocks, block_size, size)
    return [NULL_BLOCK] * first + list(cached[first:num_blocks]), length


def find_longest_common_hit(groups, cached_per_group, max_length):
    unit = math.lcm(*(block_size for _, block_size, _ in groups))

    def fit(numbers, length):
        return all(
            fits(kind, cached_per_group[n], length // block_size, block_size, size)
            for n in numbers
            for kind, block_size, size in [groups[n]]
        )

    def longest(numbers):
        length = max_length // unit * unit
        while not fit(numbers, length):
            length -= unit
        return length

    leader = next((group for group in groups if group[0] == FULL), groups[0])
    length = longest(range(len(groups)))
    tables = [
        find_longest_cache_hit(kind, cached, length, block_size, size, block_size)[0]
        for (kind, block_size, size), cached in zip(groups, cached_per_group, strict=True)
    ]
    first_hit = longest([n for n, group in enumerate(groups) if group == leader])
    return tables, length, first_hit - length


def reachable_blocks(
    start_block,
    end_block,
    block_size,
    sliding_window,
    alignment_tokens,
    retention_interval,
    boundaries,
):
    every = alignment_tokens if retention_interval is None else retention_interval
    kept = []
    for block in range(start_block, end_block):
        # The lengths at which a window would read this block, from its own end on.
        end_of_block = (block + 1) * block_size
        reading = range(end_of_block, end_of_block + sliding_window - 1)
        by_interval = every and any(length % every == 0 for length in reading)
        by_boundary = retention_interval is not None and any(
            boundary - boundary % alignment_tokens in reading for boundary in boundaries
        )
        if by_interval or by_boundary:
            kept.append(block)
    return kept


def group_layers(layers):
    names = [name for name, *_ in layers]
    if all(layer[1] == layers[0][1] and layer[3:] == layers[0][3:] for layer in layers):
        return [(names, layers[0][3])]
    page = max(layer[2] for layer in layers)
    likes = []
    for _, kind, page_bytes, block_size, size in layers:
        ratio, rest = divmod(page, page_bytes)
        if kind == MAMBA or rest:
            ratio = 1
        likes.append((kind, page_bytes * ratio, block_size * ratio, size))
    distinct = sorted(set(likes), key=likes.index)
    counts = [likes.count(like) for like in distinct]
    fewest, most = min(counts), max(counts)
    group_size = most if 2 * most < 3 * fewest else fewest
    groups = []
    for like, count in zip(distinct, counts, strict=True):
        members = [name for name, other in zip(names, likes, strict=True) if other == like]
        num_groups = math.ceil(count / group_size)
        for number in range(num_groups):
            chosen = [name for i, name in enumerate(members) if i % num_groups == number]
            groups.append((chosen, like[2]))
    return groups
