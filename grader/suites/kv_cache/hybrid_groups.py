"""Hidden suite of ``kv_cache/hybrid_groups``."""

from collections.abc import Sequence
from itertools import permutations, product
from math import lcm
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from grader.checks import check, compare, expect, new_story, require, story
from grader.parts.kv_cache.hybrid_groups import install
from reference.engine import Engine, Parts
from reference.workload import parse_workload

FULL, WINDOW = "full_attention", "sliding_window"
CHUNK, MAMBA = "chunked_local_attention", "mamba"
KINDS = (FULL, WINDOW, CHUNK, MAMBA)

SKIPPED = "What is not read again"
LETTING_GO = "Letting go"
ONE_GROUP = "What one group can take over"
ALL_GROUPS = "One length for all"
KEPT = "What is worth a hash"
SHARING_OUT = "Sharing out the layers"

Group = tuple[str, int, int]
Cached = list[int | None]


def cdiv(a: int, b: int) -> int:
    return -(-a // b)


def num_needed(group: Group, num_blocks: int) -> int:
    """How many of the last blocks of a prefix the group must have to go on behind it."""
    kind, block_size, size = group
    if kind == WINDOW:
        return min(num_blocks, cdiv(size - 1, block_size))
    if kind == CHUNK:
        length = num_blocks * block_size
        return num_blocks - length // size * size // block_size
    return min(num_blocks, 1) if kind == MAMBA else num_blocks


def table(group: Group, cached: Cached, length: int) -> list[int] | None:
    """The table of a prefix that the group can take over; None when it cannot."""
    num_blocks = length // group[1]
    first = num_blocks - num_needed(group, num_blocks)
    blocks = [0] * first + [block or 0 for block in cached[first:num_blocks]]
    return blocks if all(blocks[first:]) else None


def longest(groups: Sequence[Group], caches: Sequence[Cached], max_length: int, unit: int) -> int:
    """The longest multiple of ``unit`` that all groups can take over, found by trying each."""
    lengths = range(max_length // unit * unit, 0, -unit)
    for length in lengths:
        if all(table(g, c, length) is not None for g, c in zip(groups, caches, strict=True)):
            return length
    return 0


class Rules:
    """What the lesson's functions give, each by its rule."""

    def get_num_skipped_tokens(self, kind: str, num_computed: int, size: int) -> int:
        return {
            FULL: 0,
            WINDOW: max(0, num_computed - size + 1),
            CHUNK: num_computed // max(size, 1) * size,
            MAMBA: num_computed - 1,
        }[kind]

    def remove_skipped_blocks(
        self, blocks: list[int], kind: str, num_computed: int, block_size: int, size: int
    ) -> tuple[list[int], list[int]]:
        num_skipped = self.get_num_skipped_tokens(kind, num_computed, size) // block_size
        skipped = blocks[:num_skipped]
        gone = max((index + 1 for index, block in enumerate(skipped) if not block), default=0)
        return blocks[:gone] + [0] * len(skipped[gone:]) + blocks[len(skipped) :], skipped[gone:][
            ::-1
        ]

    def find_longest_common_hit(
        self, groups: list[Group], caches: list[Cached], max_length: int
    ) -> tuple[list[list[int] | None], int, int]:
        unit = lcm(*(block_size for _, block_size, _ in groups))
        length = longest(groups, caches, max_length, unit)
        leader = next((group for group in groups if group[0] == FULL), groups[0])
        led = [number for number, group in enumerate(groups) if group == leader]
        first = longest([groups[i] for i in led], [caches[i] for i in led], max_length, unit)
        tables = [table(g, cached, length) for g, cached in zip(groups, caches, strict=True)]
        return tables, length, first - length

    def reachable_blocks(
        self,
        start: int,
        end: int,
        block_size: int,
        window: int,
        unit: int,
        interval: int | None,
        boundaries: list[int],
    ) -> list[int]:
        needed = cdiv(window - 1, block_size)
        # No block of a window ends later than this.
        last = (end + needed) * block_size
        ends = {length // unit * unit for length in boundaries} if interval is not None else set()
        if interval != 0:
            ends |= set(range(0, last + 1, unit if interval is None else interval))
        return [
            index
            for index in range(start, end)
            if any(length // block_size - needed <= index < length // block_size for length in ends)
        ]


RULES = Rules()

# Which of up to 30 blocks are cached, as bits: half of them, or most.
HALF = st.integers(0, 2**30 - 1)
BITS = st.one_of(
    st.tuples(HALF, HALF).map(lambda two: two[0] | two[1]),
    st.tuples(HALF, HALF, HALF, HALF).map(lambda four: four[0] | four[1] | four[2] | four[3]),
    HALF,
)
BLOCK_SIZES = st.sampled_from([1, 2, 4])


def cached_blocks(bits: int, num_blocks: int, first_id: int = 1) -> Cached:
    """What is cached of a request of so many blocks."""
    return [first_id + i if bits >> i & 1 else None for i in range(num_blocks)]


def size_of(kind: str, block_size: int, number: int) -> int:
    """A window or chunk size for each number from 0 on."""
    if kind == WINDOW:
        return 2 + number % (4 * block_size + 1)
    return block_size * (1 + number % 4) if kind == CHUNK else 0


def expect_hit(lesson: Any, group: Group, cached: Cached, max_length: int, unit: int) -> None:
    kind, block_size, size = group
    length = longest([group], [cached], max_length, unit)
    num_needed = cdiv(size - 1, block_size)
    reason = {
        FULL: "Every block of the prefix is needed.",
        WINDOW: f"W - 1 = {size - 1} tokens are read before the next one: "
        f"{num_needed} block{'s' * (num_needed > 1)} of {block_size}.",
        CHUNK: f"Chunks begin at multiples of {size}; blocks before the last one are not needed.",
        MAMBA: "The last block of the prefix is needed, and no other.",
    }[kind]
    aligned = "" if unit == block_size else f" Hits end at multiples of {unit}."
    expect(
        lesson.find_longest_cache_hit(kind, list(cached), max_length, block_size, size, unit),
        (table(group, cached, length), length),
        reason + aligned,
    )


@check(points=1, rule=SKIPPED, examples=20)
@given(st.sampled_from([FULL, WINDOW, CHUNK, MAMBA]), st.integers(1, 40), st.integers(1, 6))
def test_skipped_tokens(lesson: Any, kind: str, num_computed: int, factor: int) -> None:
    """Each kind of attention reads so many tokens back and no further."""
    size = 0 if kind in (FULL, MAMBA) else 3 * factor
    expect(
        lesson.get_num_skipped_tokens(kind, num_computed, size),
        RULES.get_num_skipped_tokens(kind, num_computed, size),
        f"The next query stands at position {num_computed}.",
    )


@check(points=1, rule=ONE_GROUP, examples=15)
@given(BITS, BLOCK_SIZES, st.integers(0, 24), st.integers(0, 16))
def test_full_attention_takes_a_run(
    lesson: Any, bits: int, block_size: int, max_length: int, number: int
) -> None:
    """Full attention takes over the blocks from the first one to the first that is missing."""
    max_length = min(max_length, 6 * block_size)
    group = (FULL, block_size, size_of(FULL, block_size, number))
    expect_hit(lesson, group, cached_blocks(bits, 6), max_length, block_size)


@check(points=1, rule=ONE_GROUP, examples=30)
@given(BITS, BLOCK_SIZES, st.integers(0, 32), st.integers(0, 16))
def test_window_takes_what_it_reads(
    lesson: Any, bits: int, block_size: int, max_length: int, number: int
) -> None:
    """A sliding window takes over the blocks that the window before the next token covers."""
    max_length = min(max_length, 8 * block_size)
    group = (WINDOW, block_size, size_of(WINDOW, block_size, number))
    expect_hit(lesson, group, cached_blocks(bits, 8), max_length, block_size)


@check(points=1, rule=ONE_GROUP, examples=25)
@given(BITS, BLOCK_SIZES, st.integers(0, 32), st.integers(0, 16))
def test_chunk_takes_its_beginning(
    lesson: Any, bits: int, block_size: int, max_length: int, number: int
) -> None:
    """Chunked local attention takes over its chunk's blocks, and needs none before them."""
    max_length = min(max_length, 8 * block_size)
    group = (CHUNK, block_size, size_of(CHUNK, block_size, number))
    expect_hit(lesson, group, cached_blocks(bits, 8), max_length, block_size)


@check(points=1, rule=ONE_GROUP, examples=15)
@given(BITS, BLOCK_SIZES, st.integers(0, 24), st.integers(0, 16))
def test_mamba_takes_one_state(
    lesson: Any, bits: int, block_size: int, max_length: int, number: int
) -> None:
    """Mamba takes over the rightmost block that is cached, and that one alone."""
    max_length = min(max_length, 6 * block_size)
    group = (MAMBA, block_size, size_of(MAMBA, block_size, number))
    expect_hit(lesson, group, cached_blocks(bits, 6), max_length, block_size)


@check(
    points=1,
    rule=ONE_GROUP,
    needs=(
        "test_full_attention_takes_a_run",
        "test_window_takes_what_it_reads",
        "test_mamba_takes_one_state",
    ),
    examples=30,
)
@given(
    *(BITS, st.sampled_from([FULL, WINDOW, MAMBA]), st.sampled_from([1, 4])),
    *(st.sampled_from([2, 3]), st.integers(0, 36), st.integers(0, 16)),
)
def test_hits_end_at_the_alignment(
    lesson: Any, bits: int, kind: str, block_size: int, factor: int, max_length: int, number: int
) -> None:
    """A hit ends at a multiple of the alignment, even where more is cached."""
    max_length = min(max_length, 9 * block_size)
    group = (kind, block_size, size_of(kind, block_size, number))
    expect_hit(lesson, group, cached_blocks(bits, 9), max_length, block_size * factor)


def layout(kinds: Sequence[str], code: int) -> list[Group]:
    """Groups of these kinds; the code says which sizes they have.

    Block sizes are 1, 2 or 3 times a small one; a chunk's is a multiple of all others.
    """
    code, large = divmod(code, 2)
    block_sizes: dict[str, int] = {}
    for kind in kinds:
        code, factor = divmod(code, 4)
        block_sizes[kind] = (1 + large) * (1, 2, 3, 2)[factor]
    if CHUNK in block_sizes:
        block_sizes[CHUNK] = lcm(*block_sizes.values())
    groups = []
    for kind in kinds:
        code, number = divmod(code, 9)
        groups.append((kind, block_sizes[kind], size_of(kind, block_sizes[kind], number)))
    return groups


def caches_of(groups: list[Group], bits: Sequence[int], max_length: int) -> list[Cached]:
    return [
        cached_blocks(bits[number], max_length // block_size, 100 * number + 1)
        for number, (_, block_size, _) in enumerate(groups)
    ]


CODES = st.integers(0, 2 * 4**4 * 9**4 - 1)
OTHERS = [kinds for n in (1, 2, 3) for kinds in product([WINDOW, CHUNK, MAMBA], repeat=n)]
WITH_FULL = st.builds(layout, st.sampled_from([(FULL, *kinds) for kinds in OTHERS]), CODES)
ANY = st.builds(
    layout,
    st.sampled_from([kinds for n in (1, 2, 3) for kinds in product(KINDS, repeat=n)]),
    CODES,
)
FOUR_BITS = st.tuples(BITS, BITS, BITS, BITS)


@check(points=2, rule=ALL_GROUPS, needs=("test_hits_end_at_the_alignment",), examples=60)
@given(st.one_of(WITH_FULL, ANY), FOUR_BITS, st.integers(0, 30))
def test_common_hit_is_the_longest(
    lesson: Any, groups: list[Group], bits: tuple[int, ...], max_length: int
) -> None:
    """The common hit is the longest prefix that every group can take over, with its tables."""
    cached = caches_of(groups, bits, max_length)
    tables, length, _ = RULES.find_longest_common_hit(groups, cached, max_length)
    found, hit, _ = lesson.find_longest_common_hit(groups, [*map(list, cached)], max_length)
    expect(hit, length, "In tokens; found by trying each length.")
    expect(
        found,
        tables,
        "One table for each group, the null block wherever the group needs none.",
    )


@check(points=1, rule=ALL_GROUPS, needs=("test_hits_end_at_the_alignment",))
def test_common_hit_shrinks_until_it_fits(lesson: Any) -> None:
    """What one group shortens is offered to the others again; no group has an odd end."""
    story("Full attention and windows of 8 and 16 tokens, blocks of 4.")
    groups = [(FULL, 4, 0), (WINDOW, 4, 8), (WINDOW, 4, 16)]
    cached: list[Cached] = [[1, 2, 3, 4], [None, None, 5, 6], [7, None, None, None]]
    expect(
        lesson.find_longest_common_hit(groups, cached, 19),
        ([[], [], []], 0, 16),
        "The second window allows 4 tokens, and 4 tokens are too few for the first.",
    )
    story("Full attention in blocks of 4, a window of 9 tokens in blocks of 8.")
    expect(
        lesson.find_longest_common_hit(
            [(FULL, 4, 0), (WINDOW, 8, 9)], [[1, 2, 3, 4, 5, 6, 7], [8, 9, 10]], 28
        ),
        ([[1, 2, 3, 4, 5, 6], [0, 0, 10]], 24, 0),
        "Full attention alone could go to 28, but hits end at multiples of 8.",
    )


@check(points=1, rule=ALL_GROUPS, needs=("test_common_hit_is_the_longest",), examples=15)
@given(WITH_FULL, FOUR_BITS, st.integers(0, 24), st.integers(0, 23))
def test_order_of_groups_is_nothing(
    lesson: Any, groups: list[Group], bits: tuple[int, ...], max_length: int, number: int
) -> None:
    """However the groups are ordered, the hit is the same and each group's table is its own."""
    cached = caches_of(groups, bits, max_length)
    orders = list(permutations(range(len(groups))))
    order = orders[number % len(orders)]
    tables, length, uncached = RULES.find_longest_common_hit(groups, cached, max_length)
    expect(
        lesson.find_longest_common_hit(
            [groups[i] for i in order], [list(cached[i]) for i in order], max_length
        ),
        ([tables[i] for i in order], length, uncached),
        f"All groups can take over {length} tokens, in whatever order they are asked; "
        f"full attention alone {length + uncached}.",
    )


@check(points=1, rule=ALL_GROUPS, needs=("test_common_hit_is_the_longest",), examples=20)
@given(WITH_FULL, FOUR_BITS, st.integers(0, 24))
def test_uncached_is_what_full_attention_has_more(
    lesson: Any, groups: list[Group], bits: tuple[int, ...], max_length: int
) -> None:
    """The third result is how much longer full attention's own hit is."""
    cached = caches_of(groups, bits, max_length)
    unit = lcm(*(group[1] for group in groups))
    own = longest(groups[:1], cached[:1], max_length, unit)
    _, length, uncached = lesson.find_longest_common_hit(groups, [*map(list, cached)], max_length)
    expect(
        uncached,
        own - length,
        f"Hits end at multiples of {unit}: full attention alone hits {own} tokens, all {length}.",
    )


@check(points=1, rule=ALL_GROUPS, needs=("test_common_hit_is_the_longest",))
def test_like_groups_are_looked_up_as_one(lesson: Any) -> None:
    """Groups that are alike count as one: what one of them lacks, none of them has."""
    window = (WINDOW, 4, 5)
    story("Two groups of the same window, no full attention.")
    expect(
        lesson.find_longest_common_hit([window, window], [[1, 2, 3, None], [5, 6, None, 8]], 18),
        ([[0, 2], [0, 6]], 8, 0),
        "Both have the second block: the first lookup, of both at once, finds 8 tokens.",
    )
    story("Two windows of different sizes.")
    expect(
        lesson.find_longest_common_hit(
            [window, (WINDOW, 4, 4)], [[1, 2, 3, None], [5, 6, None, 8]], 18
        ),
        ([[0, 2], [0, 6]], 8, 4),
        "The first lookup is the first window's alone: 12 tokens.",
    )
    story("Two groups of full attention around a window.")
    full = (FULL, 4, 0)
    expect(
        lesson.find_longest_common_hit(
            [full, window, full], [[1, 2, 3, 4], [None, 6, None, 8], [9, 10, 11, None]], 18
        ),
        ([[1, 2], [0, 6], [9, 10]], 8, 4),
        "Both groups of full attention have 12 tokens.",
    )


@check(points=1, rule=LETTING_GO, needs=("test_skipped_tokens",), examples=25)
@given(
    *(st.sampled_from([FULL, WINDOW, CHUNK]), BLOCK_SIZES, st.integers(0, 16)),
    *(st.integers(0, 3), st.permutations(range(1, 7)), st.integers(1, 40)),
)
def test_skipped_blocks_go_newest_first(
    lesson: Any,
    kind: str,
    block_size: int,
    number: int,
    gone: int,
    held: list[int],
    num_computed: int,
) -> None:
    """Blocks that are skipped whole are freed from the newest down to the first null block."""
    size = size_of(kind, block_size, number)
    blocks = [0] * gone + held
    skipped = RULES.get_num_skipped_tokens(kind, num_computed, size)
    expect(
        lesson.remove_skipped_blocks(list(blocks), kind, num_computed, block_size, size),
        RULES.remove_skipped_blocks(blocks, kind, num_computed, block_size, size),
        f"{skipped} tokens are skipped, whole blocks of {block_size} go.",
    )


@check(points=1, rule=LETTING_GO, needs=("test_skipped_blocks_go_newest_first",), examples=8)
@given(
    st.sampled_from([WINDOW, CHUNK]),
    st.sampled_from([1, 2, 4]),
    st.integers(1, 4),
    st.lists(st.integers(1, 9), min_size=1, max_size=12),
)
def test_a_growing_request_holds_few_blocks(
    lesson: Any, kind: str, block_size: int, factor: int, steps: list[int]
) -> None:
    """However long a request grows, it frees each block once and holds no more than its cap."""
    size = max(2, factor * block_size)
    most = max(steps)
    cap = cdiv(size - 1 + most, block_size) + 1 if kind == WINDOW else cdiv(size + most, block_size)
    story(f"A request is computed in steps of {steps} tokens; {kind} of {size}.")
    blocks: list[int] = []
    freed: list[int] = []
    computed = next_id = 0
    for num_new in steps:
        if computed:
            blocks, gone = lesson.remove_skipped_blocks(blocks, kind, computed, block_size, size)
            freed += gone
            expect(
                lesson.remove_skipped_blocks(list(blocks), kind, computed, block_size, size),
                (blocks, []),
                "What has gone is not freed again.",
            )
        missing = cdiv(computed + num_new, block_size) - len(blocks)
        blocks = blocks + list(range(next_id + 1, next_id + missing + 1))
        next_id += missing
        computed += num_new
        held = [block for block in blocks if block]
        require(len(held) <= cap, f"It may hold {cap} blocks.", held=held)
    expect(sorted(freed), sorted(set(range(1, next_id + 1)) - set(held)), "Each block once.")


@check(points=1, rule=KEPT, examples=35)
@given(
    *(BLOCK_SIZES, st.integers(1, 3), st.integers(0, 16), st.sampled_from([None, 0, 1, 0, 2, 3])),
    *(st.integers(0, 6), st.integers(0, 9), st.lists(st.integers(0, 60), max_size=2)),
)
@example(4, 2, 3, None, 0, 6, [14])
def test_kept_blocks(
    lesson: Any,
    block_size: int,
    factor: int,
    number: int,
    units: int | None,
    start: int,
    num_new: int,
    boundaries: list[int],
) -> None:
    """The blocks of the window before each place where a hit is to end are kept, no others."""
    unit, window = block_size * factor, size_of(WINDOW, block_size, number)
    interval = None if units is None else units * unit
    sizes = (start, start + num_new, block_size, window, unit, interval)
    needed = cdiv(window - 1, block_size)
    last = "last block" if needed == 1 else f"{needed} blocks"
    ends = "the boundaries and the interval say where"
    if interval is None:
        ends = f"that is any multiple of {unit}, whatever the boundaries"
    expect(
        lesson.reachable_blocks(*sizes, list(boundaries)),
        RULES.reachable_blocks(*sizes, boundaries),
        f"A hit needs the {last} before its end; {ends}.",
    )


@check(
    points=1, rule=KEPT, needs=("test_kept_blocks", "test_common_hit_is_the_longest"), examples=20
)
@given(BLOCK_SIZES, st.integers(1, 3), st.integers(0, 16), st.integers(1, 40))
def test_what_is_kept_is_enough(
    lesson: Any, block_size: int, factor: int, number: int, num_tokens: int
) -> None:
    """A prompt that is sent again hits as much with few blocks kept as with all of them."""
    unit, window = block_size * factor, size_of(WINDOW, block_size, number)
    num_full = num_tokens // unit * unit // block_size
    kept = lesson.reachable_blocks(0, num_full, block_size, window, unit, 0, [num_tokens - 1])
    groups = [(FULL, unit, 0), (WINDOW, block_size, window)]
    of_full: Cached = list(range(101, 101 + num_tokens // unit))
    of_window: Cached = [index + 1 if index in kept else None for index in range(num_full)]
    of_window += [None] * (num_tokens // block_size - num_full)
    _, length, _ = lesson.find_longest_common_hit(groups, [of_full, of_window], num_tokens - 1)
    expect(length, (num_tokens - 1) // unit * unit, "All but the last token, aligned.")


@check(points=1, rule=SHARING_OUT, examples=6)
@given(
    st.sampled_from([(FULL, 0), (WINDOW, 8), (CHUNK, 8)]),
    st.lists(st.sampled_from([16, 32, 48]), min_size=1, max_size=6),
)
def test_like_layers_are_one_group(lesson: Any, kind: tuple[str, int], pages: list[int]) -> None:
    """Layers of one kind and one size are one group, whatever their pages."""
    layers = [(f"l{i}", kind[0], page, 4, kind[1]) for i, page in enumerate(pages)]
    expect(lesson.group_layers(layers), [([f"l{i}" for i in range(len(pages))], 4)])


@check(points=1, rule=SHARING_OUT, examples=25)
@given(st.integers(1, 5), st.integers(1, 9), st.integers(0, 5), st.booleans())
def test_groups_are_of_like_size(
    lesson: Any, num_full: int, num_windows: int, num_chunks: int, turned: bool
) -> None:
    """Each kind is split into groups about as large as the smallest kind, layer by layer."""
    of_kind = {
        (FULL, 0): [f"full{i}" for i in range(num_full)],
        (WINDOW, 8): [f"window{i}" for i in range(num_windows)],
        (CHUNK, 16): [f"chunk{i}" for i in range(num_chunks)],
    }
    kinds = [kind for kind in of_kind if of_kind[kind]]
    kinds = kinds[::-1] if turned else kinds
    rest = {kind: list(of_kind[kind]) for kind in kinds}
    layers = []
    # The layers of all kinds take turns, as long as there are any.
    while any(rest.values()):
        layers += [(rest[k].pop(0), k[0], 64, 4, k[1]) for k in kinds if rest[k]]
    counts = [len(of_kind[kind]) for kind in kinds]
    group_size = max(counts) if max(counts) < 1.5 * min(counts) else min(counts)
    groups = []
    for kind in kinds:
        names = of_kind[kind]
        num_groups = cdiv(len(names), group_size)
        groups += [(names[i::num_groups], 4) for i in range(num_groups)]
    expect(lesson.group_layers(layers), groups, f"A group has {group_size} layers at most.")


@check(points=1, rule=SHARING_OUT, needs=("test_groups_are_of_like_size",))
def test_pages_become_equal(lesson: Any) -> None:
    """Layers with small pages get larger blocks, where that makes the pages equal."""
    full = ("full", FULL, 64, 4, 0)
    expect(
        lesson.group_layers([full, ("window", WINDOW, 16, 4, 8)]),
        [(["full"], 4), (["window"], 16)],
        "16 bytes go into 64 four times.",
    )
    expect(
        lesson.group_layers([("window", WINDOW, 16, 4, 8), full, ("wide", WINDOW, 48, 4, 8)]),
        [(["window"], 16), (["full"], 4), (["wide"], 4)],
        "48 does not divide 64: that page is padded, and its layers are not like the others.",
    )
    expect(
        lesson.group_layers([full, ("window", WINDOW, 24, 4, 8)]),
        [(["full"], 4), (["window"], 4)],
        "Nor does 24: padded, although two of it would fit.",
    )
    expect(
        lesson.group_layers(
            [full, ("f", FULL, 64, 4, 0), ("window", WINDOW, 24, 4, 8), ("wide", WINDOW, 48, 4, 8)]
        ),
        [(["full"], 4), (["f"], 4), (["window"], 4), (["wide"], 4)],
        "Both windows are padded to 64, but they are unlike: one layer is the smallest kind.",
    )
    expect(
        lesson.group_layers([full, ("state", MAMBA, 32, 4, 0)]),
        [(["full"], 4), (["state"], 4)],
        "A Mamba state does not grow with its block: its page is padded.",
    )
    expect(
        lesson.group_layers(
            [full, ("narrow", FULL, 32, 4, 0), ("window", WINDOW, 64, 4, 8), ("f", FULL, 64, 8, 0)]
        ),
        [(["full"], 4), (["narrow"], 8), (["f"], 8), (["window"], 4)],
        "With blocks of 8 tokens, narrow is like f. A group has one layer, as there is one window.",
    )


ENGINE = {
    "block_size": 4,
    "num_gpu_blocks": 24,
    "max_model_len": 40,
    "max_num_batched_tokens": 12,
    "max_num_seqs": 4,
    "scheduler_reserve_full_isl": False,
}
LAYOUTS: list[dict[str, Any]] = [
    {"kv_cache_groups": [{"kind": FULL}, {"kind": WINDOW, "sliding_window": 6}]},
    {
        "prefix_cache_retention_interval": 16,
        "kv_cache_groups": [
            {"kind": WINDOW, "block_size": 2, "sliding_window": 5},
            {"kind": FULL, "block_size": 4},
            {"kind": CHUNK, "block_size": 4, "attention_chunk_size": 8},
        ],
    },
]
REQUESTS = [
    {"id": "a", "prompt": {"prefix": "system", "length": 3, "seed": 1}, "max_tokens": 9},
    {"id": "b", "prompt": {"prefix": "system", "length": 6, "seed": 2}, "max_tokens": 14},
    {"id": "c", "prompt": {"length": 17, "seed": 3}, "max_tokens": 3, "arrival": 2},
    {"id": "d", "prompt": {"prefix": "system", "length": 1, "seed": 4}, "max_tokens": 7},
    {"id": "e", "prompt": {"prefix": "system", "length": 7, "seed": 5}, "arrival": 20}
    | {"max_tokens": 2},
]


@check(
    points=1,
    rule="How it really works",
    needs=(
        "test_common_hit_is_the_longest",
        "test_uncached_is_what_full_attention_has_more",
        "test_skipped_blocks_go_newest_first",
        "test_kept_blocks",
    ),
)
def test_engine_runs_on_it(lesson: Any) -> None:
    """The whole engine, run on these functions, makes the same decisions as on its own."""
    checked = compare(lesson, RULES)
    for layout in LAYOUTS:
        kinds = " and ".join(group["kind"] for group in layout["kv_cache_groups"])
        workload = parse_workload(
            {
                "engine": ENGINE | layout,
                "prefixes": {"system": {"length": 13, "seed": 7}},
                "requests": REQUESTS,
            },
            "five requests",
        )
        theirs = Engine(workload, install(Parts(), checked), free_order=True)
        own = Engine(workload, free_order=True)
        while not own.done:
            engines = own.step()
            # The functions remember nothing: of the steps before nobody needs to be told.
            new_story()
            story(f"Five requests, four of them with the same first 13 tokens; groups of {kinds}.")
            story(f"Step {engines.step} of the engine.")
            expect(theirs.step().to_dict(), engines.to_dict())
        expect(theirs.outputs, own.outputs, "The tokens that the requests got.")
