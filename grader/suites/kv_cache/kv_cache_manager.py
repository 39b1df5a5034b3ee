"""Hidden suite of ``kv_cache/kv_cache_manager``.

Tokens are letters, and the hash of a block is the text up to its end: blocks of two requests
have the same hash when all their letters up to there are the same, as with real hashes.
"""

from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from grader.checks import (
    check,
    compare,
    expect,
    expect_error,
    hand_in,
    new_story,
    require,
    story,
)
from grader.parts.kv_cache.kv_cache_manager import POOL_METHODS, install
from reference.block_pool import BlockPool
from reference.engine import Engine, Parts
from reference.kv_cache_manager import KVCacheManager
from reference.workload import parse_workload

LOOKUP = "Looking up a prefix"
NEED = "How many blocks a request needs"
SLOTS = "How many slots it wants"
FITS = "Does it fit?"
ORDER = "Touch first, then take"
CACHE = "When a block enters the cache"
FREE = "Giving blocks back"
COMMON = "Blocks that all share"
STATS = "Statistics"

SIZE = 4
LETTERS = "abcdefghijklmnopqrstuvwxyz"
ALLOCATES = ("test_slots_become_blocks",)
ADMITS = ("test_slots_become_blocks", "test_hit_leaves_a_token_to_compute")
CACHES = ("test_cached_when_scheduled",)


@dataclass(frozen=True)
class Request:
    """The engine's half of a request that is given to both managers."""

    request_id: str
    num_tokens: int
    num_computed_tokens: int = 0
    block_hashes: list[bytes] = field(default_factory=list)
    num_preemptions: int = 0
    skip_reading_prefix_cache: bool = False
    is_waiting: bool = False


def counted(number: int, noun: str) -> str:
    """`1 block`, `2 blocks`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def manager_of(lesson: Any, num_gpu_blocks: int, *, block_size: int = SIZE, **options: Any) -> Any:
    """The submission's manager over a pool of its own."""
    caching = "" if options.get("enable_caching", True) else "; prefix caching is off"
    usable, size = counted(num_gpu_blocks - 1, "usable block"), counted(block_size, "token")
    story(f"{usable} of {size}{caching}.")
    pool = BlockPool(num_gpu_blocks, options.get("enable_caching", True))
    options = {"max_model_len": 64} | options
    return lesson.KVCacheManager(hand_in(pool, *POOL_METHODS), block_size, **options)


def request_of(
    lesson: Any, name: str, text: str, computed: int = 0, *, block_size: int = SIZE, **fields: Any
) -> Any:
    """A request whose known tokens are the letters of the text."""
    ends = range(block_size, len(text) + 1, block_size)
    return lesson.Request(
        name, len(text), computed, [text[:end].encode() for end in ends], **fields
    )


def look_up(manager: Any, request: Any) -> tuple[list[int], int]:
    """The request's hit, of the right form."""
    hit: tuple[list[int], int] = manager.get_computed_blocks(request)
    right = isinstance(hit, tuple) and len(hit) == 2 and isinstance(hit[0], list)
    require(right, "get_computed_blocks returns the hit blocks and their tokens.", returned=hit)
    return hit


def table_of(manager: Any, name: str) -> list[int]:
    """The request's block table, of the right form."""
    table: list[int] = manager.get_block_ids(name)
    require(isinstance(table, list), "get_block_ids returns a list of blocks.", returned=table)
    return table


def admit(lesson: Any, manager: Any, name: str, text: str, **flags: Any) -> list[int] | None:
    """Look the request up and ask for slots for all the rest of it."""
    request = request_of(lesson, name, text)
    hit, num_hits = look_up(manager, request)
    new: list[int] | None = manager.allocate_slots(
        request, len(text) - num_hits, num_hits, hit, **flags
    )
    return new


def num_cached(lesson: Any, manager: Any, text: str) -> int:
    """How many leading blocks of the text can be found."""
    return len(look_up(manager, request_of(lesson, "probe", text + "."))[0])


@check(points=1, rule=SLOTS, examples=15)
@given(st.integers(1, 5), st.integers(1, 14))
def test_slots_become_blocks(lesson: Any, block_size: int, num_tokens: int) -> None:
    """A new request gets just as many blocks as its tokens fill, the last one perhaps in part."""
    manager = manager_of(lesson, 20, block_size=block_size)
    request = request_of(lesson, "a", LETTERS[:num_tokens], block_size=block_size)
    blocks = list(range(1, -(-num_tokens // block_size) + 1))
    expect(manager.allocate_slots(request, num_tokens), blocks, "A request without a hit.")
    expect(manager.get_block_ids("a"), blocks, "The blocks it was given are its table.")


@check(points=1, rule=SLOTS, needs=ALLOCATES, examples=20)
@given(
    st.integers(1, 5),
    st.integers(6, 20),
    st.lists(st.tuples(st.integers(1, 6), st.integers(0, 7)), min_size=1, max_size=4),
)
@example(4, 10, [(9, 2)])
def test_table_grows_with_the_slots(lesson: Any, block_size: int, limit: int, chunks: Any) -> None:
    """Chunk by chunk, only missing blocks are added; lookahead never goes past max_model_len."""
    manager = manager_of(lesson, 40, block_size=block_size, max_model_len=limit)
    computed, held = 0, 0
    for chunk, lookahead in chunks:
        new = min(chunk, limit - computed)
        if not new:
            break
        slots = min(computed + new + lookahead, limit)
        missing = max(-(-slots // block_size) - held, 0)
        request = request_of(lesson, "a", LETTERS[:limit], computed, block_size=block_size)
        capped = ", its max_model_len" if slots < computed + new + lookahead else ""
        expect(
            manager.allocate_slots(request, new, num_lookahead_tokens=lookahead),
            list(range(held + 1, held + missing + 1)),
            f"It wants {counted(slots, 'slot')}{capped}, and holds {counted(held, 'block')}.",
        )
        computed, held = computed + new, held + missing
        expect(manager.get_block_ids("a"), list(range(1, held + 1)), "The table only grows.")
    expect(manager.free_order(), list(range(held + 1, 40)))


@check(points=1, rule=LOOKUP, needs=ALLOCATES, examples=25)
@given(st.integers(1, 5), st.integers(1, 14), st.integers(1, 14))
@example(4, 12, 12)
def test_hit_leaves_a_token_to_compute(
    lesson: Any, block_size: int, computed: int, asked: int
) -> None:
    """A hit is as long as can be, and leaves at least one token to compute."""
    manager = manager_of(lesson, 20, block_size=block_size)
    first = request_of(lesson, "a", LETTERS[:computed], block_size=block_size)
    manager.allocate_slots(first, computed)
    blocks = min(computed // block_size, (asked - 1) // block_size)
    expect(
        manager.get_computed_blocks(
            request_of(lesson, "b", LETTERS[:asked], block_size=block_size)
        ),
        (list(range(1, blocks + 1)), blocks * block_size),
        f"{computed} tokens were computed, and a request of {asked} tokens starts like them.",
    )


@check(points=1, rule=LOOKUP, needs=ADMITS, examples=20)
@given(st.integers(0, 3))
def test_hit_ends_at_the_first_miss(lesson: Any, gap: int) -> None:
    """The lookup stops at the first block that is not cached."""
    manager = manager_of(lesson, 10)
    admit(lesson, manager, "a", LETTERS[:16])
    story(f"Block number {gap} of request b is not in the cache, all its other blocks are.")
    hashes = [LETTERS[:end].encode() for end in (4, 8, 12, 16)]
    hashes[gap] = b"elsewhere"
    request = lesson.Request("b", 17, 0, hashes)
    expect(manager.get_computed_blocks(request), (list(range(1, gap + 1)), gap * SIZE))


@check(points=1, rule=LOOKUP, needs=ADMITS)
def test_who_may_not_look_up(lesson: Any) -> None:
    """With caching off, or for a request that skips reading, nothing is looked up."""
    manager = manager_of(lesson, 10)
    reader = request_of(lesson, "b", LETTERS[:13])
    skips = request_of(lesson, "a", LETTERS[:13], skip_reading_prefix_cache=True)
    manager.allocate_slots(skips, 13)
    expect(manager.get_computed_blocks(skips), ([], 0), "It must compute every position itself.")
    expect(manager.get_computed_blocks(reader), ([1, 2, 3], 12), "It writes to the cache, though.")
    new_story()
    manager = manager_of(lesson, 10, enable_caching=False)
    expect(admit(lesson, manager, "a", LETTERS[:13]), [1, 2, 3, 4])
    reader = request_of(lesson, "b", LETTERS[:13])
    expect(manager.get_computed_blocks(reader), ([], 0), "Prefix caching is off.")


@check(points=1, rule=LOOKUP, needs=ADMITS)
def test_lookup_changes_nothing(lesson: Any) -> None:
    """A lookup takes nothing, moves nothing and counts nothing."""
    manager = manager_of(lesson, 8)
    admit(lesson, manager, "a", LETTERS[:12])
    manager.free("a")
    free = manager.free_order()
    request = request_of(lesson, "b", LETTERS[:14])
    for _ in range(2):
        expect(manager.get_computed_blocks(request), ([1, 2, 3], 12))
        expect(manager.free_order(), free, "The hit blocks are still free.")
        expect(manager.get_block_ids("b"), [], "Request b has not been admitted.")
    stats = manager.make_prefix_cache_stats()
    expect([stats.requests, stats.queries, stats.hits], [0, 0, 0], "Admissions are counted alone.")


@check(points=1, rule=NEED, needs=CACHES, examples=20)
@given(st.integers(1, 3), st.booleans(), st.integers(0, 4), st.integers(0, 3), st.integers(1, 9))
@example(1, False, 3, 0, 2)
def test_free_hits_need_room(
    lesson: Any, shared: int, held: bool, others: int, spare: int, rest: int
) -> None:
    """A request fits exactly when its missing blocks and its free hits do."""
    manager = manager_of(lesson, 1 + shared + others + spare)
    admit(lesson, manager, "a", LETTERS[: shared * SIZE])
    if others:
        admit(lesson, manager, "b", "z" * (others * SIZE))
    if not held:
        manager.free("a")
    free = manager.free_order()
    text = LETTERS[: shared * SIZE] + "y" * rest
    missing = -(-len(text) // SIZE) - shared
    need = missing + (0 if held else shared)
    new = admit(lesson, manager, "c", text)
    who = "held by a" if held else "held by nobody"
    because = (
        f"It has {counted(shared, 'hit block')}, {who}, and misses {missing}: "
        f"it needs {need} of {counted(len(free), 'free block')}."
    )
    if need > len(free):
        expect(new, None, because)
    else:
        require(new is not None, because, returned=new)
        table = table_of(manager, "c")
        require(len(table) == shared + missing, because, table=table)
        expect(table[:shared], list(range(1, shared + 1)), "The table starts with the hit.")
        expect(len(manager.free_order()), len(free) - need, because)


@check(points=1, rule=FITS, needs=("test_free_hits_need_room",))
def test_refusal_changes_nothing(lesson: Any) -> None:
    """None and a ValueError leave tables, free list and prefix cache as they were."""
    manager = manager_of(lesson, 8)
    admit(lesson, manager, "a", LETTERS[:12])
    manager.free("a")
    admit(lesson, manager, "b", "z" * 6)
    free = manager.free_order()
    for text in (LETTERS[:25], LETTERS[:12] + "y" * 9):
        expect(admit(lesson, manager, "c", text), None, f"6 blocks or more, {len(free)} are free.")
        expect(manager.free_order(), free, "Request c was refused.")
        expect(manager.get_block_ids("c"), [], "Request c was refused.")
    running = request_of(lesson, "b", "z" * 30, 6)
    expect(manager.allocate_slots(running, 24), None)
    expect(manager.get_block_ids("b"), [4, 5], "A running request keeps what it holds.")
    expect_error(lambda: manager.allocate_slots(running, 0), "ValueError", "No new tokens.")
    expect(manager.get_num_common_prefix_blocks("b"), 2, "Request b is the only one with blocks.")
    expect(manager.free_order(), free)
    expect(manager.allocate_slots(request_of(lesson, "b", "z" * 9, 6), 3), [6])
    admit(lesson, manager, "c", LETTERS[:14])
    expect(manager.get_block_ids("c"), [1, 2, 3, 7], "Its hit is still there.")


@check(points=1, rule=FITS, needs=("test_table_grows_with_the_slots", "test_hit_is_touched_first"))
def test_whole_sequence_must_fit(lesson: Any) -> None:
    """With full_sequence_must_fit all known tokens must fit; only the chunk is taken."""
    for known, flag, result in ((25, False, [1, 2]), (25, True, None), (24, True, [1, 2])):
        new_story()
        manager = manager_of(lesson, 7, max_model_len=40)
        request = request_of(lesson, "a", LETTERS[:known], is_waiting=True)
        expect(
            manager.allocate_slots(request, 8, full_sequence_must_fit=flag),
            result,
            f"The whole request has {known} tokens; 6 blocks are free.",
        )
    new_story()
    manager = manager_of(lesson, 7, max_model_len=40)
    admit(lesson, manager, "a", LETTERS[:8])
    request = request_of(lesson, "b", LETTERS[:24], is_waiting=True)
    expect(
        manager.allocate_slots(request, 4, 8, [1, 2], full_sequence_must_fit=True),
        [3],
        "It misses 4 blocks in all, and 4 are free; the two hit blocks are held.",
    )
    new_story()
    manager = manager_of(lesson, 5, max_model_len=16)
    long = request_of(lesson, "a", LETTERS[:18], is_waiting=True)
    expect(
        manager.allocate_slots(long, 8, full_sequence_must_fit=True),
        [1, 2],
        "A request never has more slots than max_model_len, 16; 4 blocks are free.",
    )
    waiting = request_of(lesson, "b", "z" * 4, is_waiting=True)
    expect(
        manager.allocate_slots(waiting, 4, num_lookahead_tokens=5, full_sequence_must_fit=True),
        None,
        "The sequence fits, but its lookahead does not: 3 blocks, 2 are free.",
    )


@check(points=1, rule=FITS, needs=ALLOCATES, examples=20)
@given(
    st.integers(2, 12),
    st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.9]),
    st.integers(1, 10),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
@example(10, 0.5, 5, True, True, False)
@example(10, 0.5, 5, True, True, True)
@example(10, 0.5, 9, False, True, False)
@example(10, 0.5, 9, True, False, True)
def test_watermark(
    lesson: Any,
    blocks: int,
    watermark: float,
    need: int,
    waiting: bool,
    others: bool,
    whole: bool,
) -> None:
    """The watermark is kept free when a waiting request is admitted beside others."""
    manager = manager_of(lesson, blocks, watermark=watermark)
    kept = int(watermark * blocks) if waiting and others else 0
    story(f"With the null block it is {blocks}; the watermark is {watermark}.")
    request = request_of(lesson, "a", "x" * (need * SIZE), is_waiting=waiting)
    new = manager.allocate_slots(
        request,
        SIZE if whole else need * SIZE,
        full_sequence_must_fit=whole and waiting,
        has_scheduled_reqs=others,
    )
    if whole and not waiting:
        need = 1
    expect(
        new,
        None if need + kept > blocks - 1 else list(range(1, 1 + (1 if whole else need))),
        f"It needs {counted(need, 'block')}, {kept} must stay free, and {blocks - 1} are free.",
    )


@check(points=1, rule=ORDER, needs=(*CACHES, "test_free_gives_back_in_reverse"))
def test_hit_is_touched_first(lesson: Any) -> None:
    """The hit is taken over before new blocks are taken, so no new block is one of the hit."""
    manager = manager_of(lesson, 6)
    admit(lesson, manager, "a", "aaaa")
    manager.free("a")
    admit(lesson, manager, "b", "bbbbbbbbbbbbbbbb")
    manager.free("b")
    expect(manager.free_order(), [1, 5, 4, 3, 2], "All are cached; a's block is the oldest.")
    expect(admit(lesson, manager, "c", "aaaacc"), [5], "Block 1 is its hit; 5 is the next one.")
    expect(manager.get_block_ids("c"), [1, 5], "The hit comes first.")
    expect(manager.free_order(), [4, 3, 2])
    expect(num_cached(lesson, manager, "aaaa"), 1, "Block 1 has kept its content.")


@check(points=1, rule=CACHE, needs=ADMITS)
def test_cached_when_scheduled(lesson: Any) -> None:
    """Full blocks can be found as soon as they are allocated, chunk by chunk."""
    manager = manager_of(lesson, 12)
    text = LETTERS[:12]
    for start, end, new in ((0, 3, [1, 2]), (3, 6, [3]), (6, 8, []), (8, 12, [4])):
        request = request_of(lesson, "a", text, start)
        expect(manager.allocate_slots(request, end - start, num_lookahead_tokens=4), new)
        expect(num_cached(lesson, manager, text), end // SIZE, f"{end} tokens have been scheduled.")
    new_story()
    manager = manager_of(lesson, 12)
    admit(lesson, manager, "a", text)
    admit(lesson, manager, "b", text)
    expect(manager.get_block_ids("b"), [1, 2, 4], "A twin hits 8 tokens in the same step.")
    manager.allocate_slots(request_of(lesson, "b", text + "mnop", 12), 4)
    expect(num_cached(lesson, manager, text + "mnop"), 4, "What b has filled can be found too.")


@check(points=1, rule=CACHE, needs=CACHES, examples=20)
@given(st.integers(1, 12), st.integers(0, 6), st.integers(0, 5), st.data())
@example(7, 2, 2, None)
def test_drafts_are_never_cached(
    lesson: Any, known: int, drafts: int, lookahead: int, data: Any
) -> None:
    """Drafts and lookahead are never cached; accepted drafts are, in the next step."""
    manager = manager_of(lesson, 12)
    accepted = data.draw(st.integers(0, drafts), label="accepted") if data else drafts
    story(f"{known} tokens are known; {drafts} drafts follow, {accepted} of them are accepted.")
    request = request_of(lesson, "a", LETTERS[:known])
    manager.allocate_slots(request, known + drafts, num_lookahead_tokens=lookahead)
    expect(num_cached(lesson, manager, LETTERS[:22]), known // SIZE, "Known tokens alone.")
    after = known + accepted + 1
    request = request_of(lesson, "a", LETTERS[:after], after - 1)
    held = len(table_of(manager, "a"))
    manager.allocate_slots(request, 1)
    blocks = max(-(-after // SIZE), held)
    require(
        len(table_of(manager, "a")) == blocks,
        f"For {after} slots it holds {blocks} blocks; it had {held}.",
    )
    expect(num_cached(lesson, manager, LETTERS[:22]), after // SIZE, f"{after} tokens are known.")


@check(points=1, rule=CACHE, needs=CACHES)
def test_caching_can_be_delayed(lesson: Any) -> None:
    """Delayed blocks enter the cache later, each once; with caching off, none ever does."""
    manager = manager_of(lesson, 12)
    text = LETTERS[:16]
    manager.allocate_slots(request_of(lesson, "a", text), 13, delay_cache_blocks=True)
    expect(num_cached(lesson, manager, text), 0, "Caching was delayed.")
    request = request_of(lesson, "a", text, 13)
    for final, blocks in ((7, 1), (7, 1), (3, 1), (8, 2)):
        manager.cache_blocks(request, final)
        expect(num_cached(lesson, manager, text), blocks, f"cache_blocks: {final} tokens.")
    expect(manager.allocate_slots(request, 3), [])
    expect(num_cached(lesson, manager, text), 4, "The next allocation caches the rest.")
    hit, num_hits = look_up(manager, request_of(lesson, "b", text + "z" * 8))
    request = request_of(lesson, "b", text + "z" * 8)
    manager.allocate_slots(request, 8, num_hits, hit, delay_cache_blocks=True)
    manager.cache_blocks(request, 16)
    expect(num_cached(lesson, manager, text + "z" * 8), 4, "Those are the hit blocks.")
    manager.cache_blocks(request, 24)
    expect(num_cached(lesson, manager, text + "z" * 8), 6)
    new_story()
    manager = manager_of(lesson, 7, enable_caching=False)
    manager.allocate_slots(request_of(lesson, "a", text), 16)
    manager.cache_blocks(request_of(lesson, "a", text, 16), 16)
    manager.free("a")
    free = manager.free_order()
    require(
        set(free[:4]) == {1, 2, 3, 4},
        "With prefix caching off, blocks 1 to 4 were not entered: they are the next to go.",
        free_order=free,
    )


@check(points=1, rule=FREE, needs=CACHES)
def test_free_gives_back_in_reverse(lesson: Any) -> None:
    """Blocks go back last first, once; a request that was freed is forgotten."""
    manager = manager_of(lesson, 8)
    text = LETTERS[:14]
    admit(lesson, manager, "a", text)
    for name in ("a", "a", "never seen"):
        manager.free(name)
        expect(manager.free_order(), [4, 5, 6, 7, 3, 2, 1], f"After free({name!r}).")
        expect(manager.get_block_ids(name), [])
    expect(manager.usage, 0.0)
    new_story()
    manager = manager_of(lesson, 8)
    admit(lesson, manager, "b", text)
    admit(lesson, manager, "c", text)
    shared = table_of(manager, "b")[:3]
    expect(table_of(manager, "c")[:3], shared)
    manager.free("b")
    free = manager.free_order()
    require(not set(shared) & set(free), "Request c holds these blocks.", blocks=shared, free=free)
    manager.free("c")
    expect(manager.usage, 0.0)
    new_story()
    manager = manager_of(lesson, 8)
    admit(lesson, manager, "b", text)
    manager.free("b")
    expect(manager.reset_prefix_cache(), True)
    admit(lesson, manager, "b", text)
    expect(num_cached(lesson, manager, text), 3, "Back again, b starts from nothing.")


@check(points=1, rule=COMMON, needs=CACHES, examples=15)
@given(st.lists(st.tuples(st.integers(0, 14), st.integers(0, 6)), min_size=1, max_size=4))
@example([])
def test_common_prefix(lesson: Any, lengths: list[tuple[int, int]]) -> None:
    """Common are the leading blocks that every request with blocks holds."""
    if not lengths:
        nothing_in_common(lesson)
        return
    manager = manager_of(lesson, 14)
    tables: dict[str, list[int]] = {}
    for number, (common, own) in enumerate(lengths):
        text = LETTERS[:common] + str(number) * (own or (not common))
        if admit(lesson, manager, f"r{number}", text) is not None:
            tables[f"r{number}"] = table_of(manager, f"r{number}")
    while tables:
        common_blocks = 0
        for column in zip(*tables.values(), strict=False):
            if len(set(column)) > 1:
                break
            common_blocks += 1
        for name in tables:
            expect(
                manager.get_num_common_prefix_blocks(name),
                common_blocks,
                f"The block tables are {list(tables.values())}.",
            )
        name = next(iter(tables))
        manager.free(name)
        del tables[name]


def nothing_in_common(lesson: Any) -> None:
    """With caching off no block counts, nor one that all hold behind their first."""
    manager = manager_of(lesson, 5, enable_caching=False)
    admit(lesson, manager, "a", "aaaaa")
    expect(manager.get_num_common_prefix_blocks("a"), 0, "Prefix caching is off.")
    new_story()
    manager = manager_of(lesson, 12)
    admit(lesson, manager, "a", LETTERS[:5])
    alone = request_of(lesson, "b", LETTERS[:9], skip_reading_prefix_cache=True)
    manager.allocate_slots(alone, 9)
    expect(manager.get_block_ids("b"), [3, 4, 5], "Request b reads nothing from the cache.")
    manager.free("a")
    admit(lesson, manager, "c", LETTERS[:9])
    expect(manager.get_block_ids("c"), [1, 4, 2], "Block 1 was cached before block 3.")
    for name in ("b", "c"):
        expect(manager.get_num_common_prefix_blocks(name), 0, "b begins with 3, and c with 1.")


@check(points=1, rule=STATS, needs=ALLOCATES)
def test_statistics(lesson: Any) -> None:
    """Admissions are counted in tokens; preempted requests apart, those that skip not at all."""
    manager = manager_of(lesson, 8)

    def counted(manager: Any) -> list[Any]:
        stats = manager.make_prefix_cache_stats()
        plain = [stats.requests, stats.queries, stats.hits]
        again = [stats.preempted_requests, stats.preempted_queries, stats.preempted_hits]
        return [stats.reset, plain, again]

    def record(name: str, num_tokens: int, num_hits: int, **fields: Any) -> None:
        request = request_of(lesson, name, LETTERS[:num_tokens], **fields)
        manager.record_prefix_cache_stats(request, num_hits)

    nothing = [False, [0, 0, 0], [0, 0, 0]]
    expect(counted(manager), nothing)
    record("a", 12, 0)
    record("b", 12, 8)
    record("c", 9, 4, num_preemptions=2)
    record("d", 20, 0, skip_reading_prefix_cache=True)
    record("e", 7, 4, num_preemptions=1)
    expect(counted(manager), [False, [2, 24, 8], [2, 16, 8]], "Request d looked nothing up.")
    expect(counted(manager), nothing, "Each make_prefix_cache_stats starts anew.")
    admit(lesson, manager, "a", LETTERS[:5])
    expect(manager.reset_prefix_cache(), False, "Request a holds blocks.")
    expect(counted(manager), nothing, "The reset was refused.")
    manager.free("a")
    expect(manager.reset_prefix_cache(), True)
    expect(num_cached(lesson, manager, LETTERS[:5]), 0, "The prefix cache was reset.")
    record("f", 3, 0)
    expect(counted(manager), [True, [1, 3, 0], [0, 0, 0]])
    expect(counted(manager), nothing)
    new_story()
    manager = manager_of(lesson, 8, enable_caching=False)
    record("a", 12, 0)
    expect(counted(manager), nothing, "Prefix caching is off.")


TEXTS = st.builds(
    str.__add__,
    st.sampled_from(["", "aaaa", "aaaabbbb", "aaaabbbba"]),
    st.text("ab", min_size=1, max_size=6),
)
OPERATION = st.tuples(
    st.sampled_from(["admit", "admit", "admit", "grow", "grow", "free"]), st.integers(0, 4), TEXTS
)


@check(points=1, rule=CACHE, needs=CACHES, examples=15)
@given(st.lists(OPERATION, max_size=10))
def test_every_slot_keeps_its_token(lesson: Any, operations: list[Any]) -> None:
    """A hit's blocks hold the request's own tokens, and nobody writes over another's."""
    manager = manager_of(lesson, 9)
    slots: dict[int, str] = {}
    running: dict[str, str] = {}

    def write(name: str, start: int) -> None:
        table, text = table_of(manager, name), running[name]
        require(
            len(table) * SIZE >= len(text),
            f"{name!r} has slots for its {len(text)} tokens.",
            table=table,
        )
        for position in range(start, len(text)):
            block = table[position // SIZE]
            slots[block] = slots.get(block, "")[: position % SIZE] + text[position]

    for number, (operation, which, letters) in enumerate(operations):
        names = list(running)
        name = names[which % len(names)] if names else ""
        if operation == "admit":
            name = f"r{number}"
            hit, num_hits = look_up(manager, request_of(lesson, name, letters))
            content = "".join(slots.get(block, "") for block in hit)
            expect(content, letters[:num_hits], f"What the hit of {name!r} holds, as letters.")
            if admit(lesson, manager, name, letters) is not None:
                running[name] = letters
                write(name, num_hits)
        elif name and operation == "grow":
            text = running[name] + letters[:5]
            request = request_of(lesson, name, text, len(running[name]))
            if manager.allocate_slots(request, len(letters[:5])) is not None:
                start = len(running[name])
                running[name] = text
                write(name, start)
        elif name:
            manager.free(name)
            del running[name]
        for name, text in running.items():
            table = table_of(manager, name)
            read = "".join(slots.get(block, "")[:SIZE] for block in table)
            expect(read[: len(text)], text, f"What {name!r} reads through its table {table}.")


class Twins:
    """A scheduler of sorts: it drives the submission's manager and the engine's alike."""

    MAX_MODEL_LEN = 20

    def __init__(self, lesson: Any, enable_caching: bool) -> None:
        story("No request grows beyond 20 tokens; the watermark is 0.2 of 8 blocks.")
        options: dict[str, Any] = {
            "max_model_len": self.MAX_MODEL_LEN,
            "enable_caching": enable_caching,
            "watermark": 0.2,
        }
        self.lesson = lesson
        self.manager = compare(
            manager_of(lesson, 8, **options),
            KVCacheManager(BlockPool(8, enable_caching), SIZE, **options),
        )
        self.texts: dict[str, str] = {}
        self.preemptions: dict[str, int] = {}
        self.computed: dict[str, int] = {}  # of those that run

    def request(self, name: str, **fields: Any) -> Any:
        text, computed = self.texts[name], self.computed.get(name, 0)
        fields["num_preemptions"] = self.preemptions[name]
        theirs = request_of(self.lesson, name, text, computed, **fields)
        return compare(theirs, request_of(_Engine, name, text, computed, **fields))

    def admit(self, name: str, chunk: int, bits: int) -> None:
        request = self.request(name, skip_reading_prefix_cache=bits % 8 == 0, is_waiting=True)
        hit, num_hits = self.manager.get_computed_blocks(request)
        new = min(len(self.texts[name]) - num_hits, chunk)
        flags = {
            "num_lookahead_tokens": bits % 3,
            "delay_cache_blocks": bits % 7 == 0,
            "full_sequence_must_fit": bits % 5 > 1,
            "has_scheduled_reqs": bool(self.computed),
        }
        if self.manager.allocate_slots(request, new, num_hits, hit, **flags) is not None:
            self.manager.record_prefix_cache_stats(request, num_hits)
            self.computed[name] = num_hits + new

    def grow(self, name: str, letter: str, drafts: int, bits: int) -> None:
        """Compute what is left of a request, or one more letter and some rejected drafts."""
        known = len(self.texts[name])
        if self.computed[name] == known < self.MAX_MODEL_LEN:
            self.texts[name] += letter
        new = len(self.texts[name]) - self.computed[name]
        if not new:
            return
        new += min(drafts, self.MAX_MODEL_LEN - len(self.texts[name]))
        flags = {"num_lookahead_tokens": bits % 3, "delay_cache_blocks": bits % 7 == 0}
        if self.manager.allocate_slots(self.request(name), new, **flags) is not None:
            self.computed[name] = len(self.texts[name])

    def end(self, name: str) -> None:
        self.manager.free(name)
        del self.computed[name]
        self.preemptions[name] += 1

    def look(self) -> None:
        self.manager.free_order()
        for name in self.computed:
            self.manager.get_block_ids(name)
        if self.computed:
            self.manager.get_num_common_prefix_blocks(next(iter(self.computed)))


class _Engine:
    """Stands where a lesson does, for the engine's half of a request."""

    Request = Request


STEP = st.tuples(
    st.sampled_from(["new", "new", "again", "grow", "grow", "end", "cache", "stats", "reset"]),
    st.integers(0, 3),
    TEXTS,
    st.integers(0, 31),
)
# Hypothesis draws about five elements a list; three lists make a life of fifteen steps.
STEPS = st.tuples(*[st.lists(STEP, max_size=12)] * 3).map(lambda lists: [*chain(*lists)])


@check(
    points=1,
    rule=ORDER,
    needs=(
        "test_table_grows_with_the_slots",
        "test_hit_ends_at_the_first_miss",
        "test_who_may_not_look_up",
        "test_lookup_changes_nothing",
        "test_refusal_changes_nothing",
        "test_whole_sequence_must_fit",
        "test_watermark",
        "test_drafts_are_never_cached",
        "test_caching_can_be_delayed",
        "test_common_prefix",
        "test_statistics",
        "test_every_slot_keeps_its_token",
    ),
    examples=12,
)
@given(st.sampled_from([True, True, True, False]), STEPS)
def test_manager_follows_the_engine(lesson: Any, caching: bool, steps: list[Any]) -> None:
    """Whatever requests come, grow, are preempted and end, the tables are the engine's."""
    twins = Twins(lesson, caching)
    for number, (operation, which, text, bits) in enumerate(steps):
        waiting = [name for name in twins.texts if name not in twins.computed]
        running = list(twins.computed)
        match operation:
            case "new":
                name = f"r{number}"
                twins.texts[name], twins.preemptions[name] = text, 0
                twins.admit(name, 1 + which * 4, bits)
            case "again" if waiting:
                twins.admit(waiting[which % len(waiting)], 1 + which * 4, bits)
            case "grow" if running:
                twins.grow(running[which % len(running)], text[0], bits // 3 % 4, bits)
            case "end" if running:
                twins.end(running[which % len(running)])
            case "cache" if running:
                name = running[which % len(running)]
                twins.manager.cache_blocks(twins.request(name), twins.computed[name])
            case "stats":
                twins.manager.make_prefix_cache_stats()
            case "reset":
                twins.manager.reset_prefix_cache()
        twins.look()
    expect(twins.manager.theirs.usage, twins.manager.reference.usage)
    twins.manager.make_prefix_cache_stats()


TIGHT = {"block_size": 4, "num_gpu_blocks": 10, "max_model_len": 40, "max_num_batched_tokens": 16}
CONVERSATIONS = [
    {"id": "a", "prompt": {"prefix": "system", "length": 3, "seed": 1}, "max_tokens": 4},
    {"id": "b", "prompt": {"prefix": "system", "length": 6, "seed": 2}, "max_tokens": 9},
    {"id": "c", "prompt": {"length": 17, "seed": 3}, "max_tokens": 3, "arrival": 2},
    {"id": "d", "prompt": {"prefix": "system", "length": 1, "seed": 4}, "max_tokens": 7},
    {"id": "e", "prompt": {"length": 17, "seed": 3}, "max_tokens": 2, "arrival": 9},
]
ENGINES: list[dict[str, Any]] = [
    {},
    {"enable_prefix_caching": False},
    {"watermark": 0.3, "scheduler_reserve_full_isl": False},
]


@check(points=1, rule=ORDER, needs=("test_manager_follows_the_engine",))
def test_engine_runs_on_it(lesson: Any) -> None:
    """The whole engine, run on this manager, makes the same decisions as on its own."""

    def both(pool: BlockPool, *args: Any) -> Any:
        own_pool = BlockPool(pool.num_gpu_blocks, pool.enable_caching)
        theirs = install(Parts(), lesson).kv_cache_manager(pool, *args)
        return compare(theirs, KVCacheManager(own_pool, *args))

    for options in ENGINES:
        new_story()
        story("Five requests share 9 blocks of 4 tokens; three start with the same 10 tokens.")
        if options:
            story(f"The engine: {', '.join(f'{key}: {on}' for key, on in options.items())}.")
        workload = parse_workload(
            {
                "engine": TIGHT | options,
                "prefixes": {"system": {"length": 10, "seed": 7}},
                "requests": CONVERSATIONS,
            },
            "five requests",
        )
        # The first call that the engine's own manager answers otherwise ends the run.
        Engine(workload, Parts(kv_cache_manager=both)).run()
