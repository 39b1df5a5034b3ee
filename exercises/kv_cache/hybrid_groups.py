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
    raise NotImplementedError("get_num_skipped_tokens: one expression for each kind")


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
    raise NotImplementedError(
        "remove_skipped_blocks: from the newest skipped block down to the first one that is gone already"
    )


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
    raise NotImplementedError(
        "find_longest_cache_hit: FULL and CHUNK left to right, the others right to left; or try each length"
    )


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
    raise NotImplementedError(
        "find_longest_common_hit: each kind shortens the candidate, until none does"
    )


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
    raise NotImplementedError(
        "reachable_blocks: for each place where a hit may end, the blocks of the window before it"
    )


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
    raise NotImplementedError(
        "group_layers: equal pages, then buckets of like layers, then groups of like sizes"
    )
