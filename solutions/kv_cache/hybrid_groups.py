"""Groups of layers that cache differently: what each may forget, and the prefix they all find.

A *group* is a tuple ``(kind, block_size, size)``: a kind of attention, the tokens in one of the
group's blocks, and the size of its window or chunk (0 for the other kinds). A window is at least
2 tokens; a chunk is a multiple of its group's block size.

A *block table* is a list of block ids, one for each block of the request from its first token
on. Block 0 is the null block: it stands wherever a group needs no block.

Read in vLLM 0.30.0: ``vllm/v1/core/single_type_kv_cache_manager.py``, ``HybridKVCacheCoordinator``
in ``vllm/v1/core/kv_cache_coordinator.py``, ``get_kv_cache_groups`` in
``vllm/v1/core/kv_cache_utils.py``.
"""

from collections.abc import Sequence
from math import lcm

FULL = "full_attention"
WINDOW = "sliding_window"
CHUNK = "chunked_local_attention"
MAMBA = "mamba"

NULL_BLOCK = 0

Group = tuple[str, int, int]
Layer = tuple[str, str, int, int, int]


def cdiv(a: int, b: int) -> int:
    """a / b, rounded up.

    >>> cdiv(8, 4), cdiv(9, 4)
    (2, 3)
    """
    return -(-a // b)


def block_table(cached: Sequence[int | None], num_blocks: int, num_needed: int) -> list[int]:
    """A prefix of ``num_blocks`` blocks, of which its group needs the last ``num_needed``.

    >>> block_table([None, 5, 6, 7, None], 4, 2)
    [0, 0, 6, 7]
    """
    first = max(0, num_blocks - num_needed)
    needed = [block for block in cached[first:num_blocks] if block is not None]
    return [NULL_BLOCK] * first + needed


def get_num_skipped_tokens(kind: str, num_computed_tokens: int, size: int) -> int:
    """How many tokens from the first one on will not be read again.

    Args:
        kind: the group's kind of attention.
        num_computed_tokens: how many tokens are computed; the next query stands at this position.
            At least 1 for ``MAMBA``.
        size: window or chunk in tokens.

    >>> get_num_skipped_tokens(WINDOW, 7, 4), get_num_skipped_tokens(CHUNK, 13, 8)
    (4, 8)
    >>> get_num_skipped_tokens(FULL, 7, 0), get_num_skipped_tokens(MAMBA, 7, 0)
    (0, 6)
    """
    ### BEGIN SOLUTION one expression for each kind
    if kind == WINDOW:
        return max(0, num_computed_tokens - size + 1)
    if kind == CHUNK:
        return num_computed_tokens // size * size
    if kind == MAMBA:
        return num_computed_tokens - 1
    return 0
    ### END SOLUTION


def remove_skipped_blocks(
    table: Sequence[int], kind: str, num_computed_tokens: int, block_size: int, size: int
) -> tuple[list[int], list[int]]:
    """Let go of the blocks whose tokens will all not be read again.

    Args:
        table: the group's block table; it is not changed.
        kind: ``FULL``, ``WINDOW`` or ``CHUNK``.
        num_computed_tokens: how many tokens are computed and back from the model.
        block_size: tokens in a block.
        size: window or chunk in tokens.

    Returns:
        The table with the null block in their places, and their ids in the order in which they
        are freed.

    >>> remove_skipped_blocks([1, 2, 3, 4], WINDOW, 15, 4, 5)
    ([0, 0, 3, 4], [2, 1])
    >>> remove_skipped_blocks([0, 0, 3, 4], WINDOW, 17, 4, 5)
    ([0, 0, 0, 4], [3])
    """
    ### BEGIN SOLUTION from the newest skipped block down to the first one that is gone already
    kept = list(table)
    freed: list[int] = []
    num_skipped = get_num_skipped_tokens(kind, num_computed_tokens, size) // block_size
    for index in reversed(range(min(num_skipped, len(kept)))):
        if kept[index] == NULL_BLOCK:
            break
        freed.append(kept[index])
        kept[index] = NULL_BLOCK
    return kept, freed
    ### END SOLUTION


def find_longest_cache_hit(
    kind: str,
    cached: Sequence[int | None],
    max_length: int,
    block_size: int,
    size: int,
    alignment_tokens: int,
) -> tuple[list[int], int]:
    """The longest prefix that one group can take over.

    Args:
        kind: the group's kind of attention.
        cached: for each full block of the request's tokens the id of a block that holds the same,
            or None; at least ``max_length // block_size`` entries.
        max_length: the prefix is not longer, in tokens.
        block_size: tokens in a block.
        size: window or chunk in tokens.
        alignment_tokens: the prefix is a multiple of it, in tokens; itself a multiple of
            ``block_size``, and equal to it for ``CHUNK``.

    Returns:
        The block table of the prefix, and the prefix in tokens.

    >>> find_longest_cache_hit(FULL, [7, 8, None, 9], 16, 4, 0, 4)
    ([7, 8], 8)
    >>> find_longest_cache_hit(WINDOW, [None, None, 5, 6], 16, 4, 8, 4)
    ([0, 0, 5, 6], 16)
    >>> find_longest_cache_hit(CHUNK, [None, None, 5, None], 15, 4, 8, 4)
    ([0, 0, 5], 12)
    >>> find_longest_cache_hit(MAMBA, [None, 5, 6, None], 16, 4, 0, 8)
    ([0, 5], 8)
    """
    ### BEGIN SOLUTION FULL and CHUNK left to right, the others right to left; or try each length
    num_blocks = max_length // block_size
    if kind in (FULL, CHUNK):
        skipped = get_num_skipped_tokens(kind, max_length, size) // block_size
        end = skipped
        while end < num_blocks and cached[end] is not None:
            end += 1
        end -= end * block_size % alignment_tokens // block_size
        needed = end - skipped
    else:
        needed = cdiv(size - 1, block_size) if kind == WINDOW else 1
        end = run = 0
        for index in reversed(range(num_blocks)):
            if cached[index] is None:
                run = 0
            elif run or (index + 1) * block_size % alignment_tokens == 0:
                end = end if run else index + 1
                run += 1
            if run == needed:
                break
        end = end if run else 0
    return block_table(cached, end, needed), end * block_size
    ### END SOLUTION


def find_longest_common_hit(
    groups: Sequence[Group], cached_per_group: Sequence[Sequence[int | None]], max_length: int
) -> tuple[list[list[int]], int, int]:
    """The longest prefix that all groups can take over.

    Args:
        groups: the groups of layers.
        cached_per_group: for each of them what ``find_longest_cache_hit`` calls ``cached``.
        max_length: the prefix is not longer, in tokens.

    Returns:
        The block table of each group, in the order of ``groups``; the prefix in tokens; and by
        how many tokens the first lookup's hit was longer.

    >>> groups = [(FULL, 4, 0), (WINDOW, 4, 8)]
    >>> find_longest_common_hit(groups, [[1, 2, 3, 4], [5, 6, None, 8]], 18)
    ([[1, 2], [5, 6]], 8, 8)
    """
    ### BEGIN SOLUTION each kind shortens the candidate, until none does
    alignment = lcm(*(block_size for _, block_size, _ in groups))
    # Groups that cache alike are looked up as one, full attention first.
    alike: dict[Group, list[int]] = {}
    for number in sorted(range(len(groups)), key=lambda number: groups[number][0] != FULL):
        alike.setdefault(groups[number], []).append(number)
    together = {
        group: [
            None if None in blocks else blocks[0]
            for blocks in zip(*(cached_per_group[number] for number in numbers), strict=True)
        ]
        for group, numbers in alike.items()
    }
    length = max_length
    hits: list[int] = []
    while True:
        candidate = length
        for (kind, block_size, size), cached in together.items():
            _, candidate = find_longest_cache_hit(
                kind, cached, candidate, block_size, size, alignment
            )
            hits.append(candidate)
        if candidate == length:
            break
        length = candidate
    tables = [
        find_longest_cache_hit(kind, cached, length, block_size, size, alignment)[0]
        for (kind, block_size, size), cached in zip(groups, cached_per_group, strict=True)
    ]
    return tables, length, hits[0] - length
    ### END SOLUTION


def reachable_blocks(
    start_block: int,
    end_block: int,
    block_size: int,
    sliding_window: int,
    alignment_tokens: int,
    retention_interval: int | None,
    boundaries: Sequence[int],
) -> list[int]:
    """Which of a window group's newly full blocks are worth a hash.

    Args:
        start_block, end_block: the blocks from ``start_block`` up to, but not including,
            ``end_block`` have become full.
        block_size: tokens in a block.
        sliding_window: the window in tokens.
        alignment_tokens: hits are multiples of it; itself a multiple of ``block_size``.
        retention_interval: keep the window before each multiple of so many tokens, a multiple of
            ``alignment_tokens``; 0: only before the boundaries; None: wherever a hit could end.
        boundaries: lengths, in tokens, at which a later request may go on. They count unless
            ``retention_interval`` is None.

    Returns:
        The indices of those blocks, ascending.

    >>> reachable_blocks(0, 6, 4, 5, 8, None, [14])
    [1, 3, 5]
    >>> reachable_blocks(0, 6, 4, 8, 4, 0, [23])
    [3, 4]
    """
    ### BEGIN SOLUTION for each place where a hit may end, the blocks of the window before it
    needed = cdiv(sliding_window - 1, block_size)
    ends: list[int] = []
    interval = alignment_tokens if retention_interval is None else retention_interval
    if interval:
        last = cdiv(end_block * block_size, interval) * interval
        ends += range(interval, last + 1, interval)
    if retention_interval is not None:
        ends += [boundary // alignment_tokens * alignment_tokens for boundary in boundaries]
    return [
        index
        for index in range(start_block, end_block)
        if any(end // block_size - needed <= index < end // block_size for end in ends)
    ]
    ### END SOLUTION


def group_layers(layers: Sequence[Layer]) -> list[tuple[list[str], int]]:
    """Share out a model's layers among groups whose blocks are all of one size in bytes.

    Args:
        layers: ``(name, kind, page_bytes, block_size, size)`` of each, in the model's order;
            ``page_bytes`` is what one block of the layer takes.

    Returns:
        For each group the names of its layers, and its block size in tokens.

    >>> layers = [(f"l{i}", FULL if i % 3 == 0 else WINDOW, 64, 4, i % 3 and 8) for i in range(6)]
    >>> group_layers(layers)
    [(['l0', 'l3'], 4), (['l1', 'l4'], 4), (['l2', 'l5'], 4)]
    >>> group_layers([("a", FULL, 64, 4, 0), ("b", WINDOW, 32, 4, 8)])
    [(['a'], 4), (['b'], 8)]
    """
    ### BEGIN SOLUTION equal pages, then buckets of like layers, then groups of like sizes
    if len({(kind, block_size, size) for _, kind, _, block_size, size in layers}) == 1:
        return [([name for name, *_ in layers], layers[0][3])]
    largest = max(page_bytes for _, _, page_bytes, _, _ in layers)
    buckets: dict[tuple[str, int, int, int], list[str]] = {}
    for name, kind, page_bytes, block_size, size in layers:
        # A page that cannot grow to the largest stays as it is, and is padded.
        grows = kind != MAMBA and largest % page_bytes == 0
        factor = largest // page_bytes if grows else 1
        like = (kind, page_bytes * factor, block_size * factor, size)
        buckets.setdefault(like, []).append(name)
    sizes = [len(names) for names in buckets.values()]
    group_size = max(sizes) if max(sizes) < 1.5 * min(sizes) else min(sizes)
    groups: list[tuple[list[str], int]] = []
    for (_, _, block_size, _), names in buckets.items():
        num_groups = cdiv(len(names), group_size)
        groups += [(names[i::num_groups], block_size) for i in range(num_groups)]
    return groups
    ### END SOLUTION
