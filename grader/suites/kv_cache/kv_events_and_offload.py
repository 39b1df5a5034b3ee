"""Hidden suite of ``kv_cache/kv_events_and_offload``."""

from itertools import product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from grader.checks import (
    check,
    compare,
    expect,
    expect_error,
    hand_in,
    new_story,
    quickest,
    require,
    story,
)
from grader.parts.kv_cache.kv_events_and_offload import POOL_METHODS, install
from reference.block_pool import BlockPool
from reference.engine import Parts, run_workload
from reference.kv_events import external_block_hash
from reference.kv_offload import CPUOffloadingManager
from reference.workload import parse_workload

STORED = "Stored: one event for all"
REMOVED = "Removed: one event a hash"
SILENT = "What is no news"
CLEARED = "Cleared"
COUNT = "A consumer counts"
REPLAY = "Batches have numbers"
CHUNKS = "A chunk and its state"
ROOM = "Making room"
IDS = "Which slot"
LRU = "LRU: a list of those that may go"
TOUCH = "Touching, the last key first"
ARC = "ARC: once, again, and ghosts"
TARGET = "What the ghosts teach"
THRESHOLD = "Not at the first offer"
TOLD = "What the manager tells"

SIZE = 4
KEYS = [bytes([letter]) for letter in b"abcdefgh"]


def hash_of(text: str) -> bytes:
    """A hash that reads well as text and as a number."""
    return text.encode().rjust(32, b"\0")


def hashes(*texts: str) -> list[bytes]:
    return [hash_of(text) for text in texts]


def numbers(*texts: str) -> list[int]:
    return [external_block_hash(hash_of(text)) for text in texts]


def keys(letters: str) -> list[bytes]:
    return [bytes([letter]) for letter in letters.encode()]


def pool_of(lesson: Any, num_gpu_blocks: int) -> Any:
    """The submission's pool over one of the engine's."""
    story(f"{num_gpu_blocks - 1} usable blocks of {SIZE} tokens.")
    return lesson.EventingPool(hand_in(BlockPool(num_gpu_blocks), *POOL_METHODS), SIZE)


def removed(*texts: str) -> list[dict[str, Any]]:
    return [{"type": "BlockRemoved", "block_hashes": [number]} for number in numbers(*texts)]


def fill(pool: Any, *texts: str) -> list[int]:
    """Take a block for each hash and cache them all in one call; their ids."""
    block_ids: list[int] = pool.get_new_blocks(len(texts))
    pool.cache_full_blocks(block_ids, hashes(*texts), [0] * SIZE * len(texts), 0, len(texts))
    return block_ids


@check(points=1, rule=STORED)
def test_full_blocks_are_told_in_one_event(lesson: Any) -> None:
    """Newly full blocks are told in one event: hashes, parent, their tokens and no others."""
    expect(
        lesson.external_block_hash(hash_of("01234567")),
        external_block_hash(b"01234567"),
        "The last 8 bytes of a hash, big-endian.",
    )
    for num_cached, num_full in product(range(5), repeat=2):
        new_story()
        pool = pool_of(lesson, 6)
        block_ids = pool.get_new_blocks(5)
        texts = ["a", "b", "c", "d"]
        token_ids = list(range(100, 100 + 4 * SIZE + num_full))
        pool.cache_full_blocks(block_ids, hashes(*texts), token_ids, num_cached, num_full)
        expected: list[dict[str, Any]] = [
            {
                "type": "BlockStored",
                "block_hashes": numbers(*texts[num_cached:num_full]),
                "parent_block_hash": numbers(*texts)[num_cached - 1] if num_cached else None,
                "token_ids": token_ids[num_cached * SIZE : num_full * SIZE],
                "block_size": SIZE,
            }
        ]
        expect(pool.take_events(), expected if num_cached < num_full else [])
        for index, text in enumerate(texts):
            named = num_cached <= index < num_full
            expect(
                pool.get_cached_block(hash_of(text)),
                block_ids[index] if named else None,
                "The pool itself is told what is full.",
            )


@check(points=1, rule=SILENT, needs=("test_full_blocks_are_told_in_one_event",))
def test_hits_and_freed_blocks_are_no_news(lesson: Any) -> None:
    """Freeing and hitting blocks tells nothing: all can still be found."""
    pool = pool_of(lesson, 6)
    fill(pool, "a", "b")
    pool.take_events()
    pool.touch([1])
    expect(pool.ref_cnt(1), 2, "The pool itself is told of the hit.")
    expect(pool.take_events(), [], "A hit changes nothing of what is cached.")
    pool.free_blocks([2, 1])
    expect(pool.take_events(), [], "Block 2 is free, and can be found as before.")
    pool.free_blocks([1])
    expect(pool.free_order(), [3, 4, 5, 2, 1])
    expect(pool.take_events(), [])
    pool.touch([1, 2])
    expect(pool.take_events(), [], "Blocks 1 and 2 are in use again, with the content they had.")


@check(points=1, rule=REMOVED, needs=("test_full_blocks_are_told_in_one_event",))
def test_each_lost_hash_is_told(lesson: Any) -> None:
    """Each hash that an allocation costs is one event, in the order of the blocks."""
    for of_a, of_b, num_blocks in product(range(4), range(3), (0, 1, 3, 6)):
        new_story()
        pool = pool_of(lesson, 7)
        a, b = pool.get_new_blocks(3), pool.get_new_blocks(2)
        pool.cache_full_blocks(a, hashes("a1", "a2", "a3"), [0] * 12, 0, of_a)
        pool.cache_full_blocks(b, hashes("b1", "b2"), [0] * 8, 0, of_b)
        pool.free_blocks(b[::-1])
        pool.free_blocks(a[::-1])
        named = dict(zip(a, ("a1", "a2", "a3")[:of_a], strict=False))
        named |= dict(zip(b, ("b1", "b2")[:of_b], strict=False))
        pool.take_events()
        blocks = pool.get_new_blocks(num_blocks)
        lost = [named[block] for block in blocks if block in named]
        expect(pool.take_events(), removed(*lost), f"The blocks are {blocks}.")
        pool.free_blocks(blocks[::-1])
        pool.get_new_blocks(num_blocks)
        expect(pool.take_events(), [], "These blocks have no hash any more.")


@check(points=1, rule=REMOVED, needs=("test_each_lost_hash_is_told",))
def test_order_is_that_of_what_happened(lesson: Any) -> None:
    """Events are told in order, once each; what was refused is not told."""
    pool = pool_of(lesson, 4)
    pool.free_blocks(fill(pool, "a", "b", "c")[::-1])
    expect_error(lambda: pool.get_new_blocks(4), "ValueError", "There are 3.")
    block_ids = pool.get_new_blocks(2)
    pool.cache_full_blocks(block_ids, hashes("x", "y"), list(range(8)), 0, 2)
    events = pool.take_events()
    expect(
        [event["type"] for event in events], ["BlockStored", *["BlockRemoved"] * 2, "BlockStored"]
    )
    expect(events[1:3], removed("c", "b"), "Blocks 3 and 2 are handed out, and then stored.")
    expect(events[3]["block_hashes"], numbers("x", "y"))
    expect(pool.take_events(), [], "Each event is taken once.")
    pool.free_blocks(block_ids[::-1])
    pool.get_new_blocks(3)
    expect(pool.take_events(), removed("a", "y", "x"), "Block 1 was free for longest.")


@check(points=1, rule=CLEARED, needs=("test_full_blocks_are_told_in_one_event",))
def test_reset_is_one_event(lesson: Any) -> None:
    """A reset that succeeds is one event; one that fails, none."""
    pool = pool_of(lesson, 4)
    block_ids = fill(pool, "a", "b")
    pool.take_events()
    expect(pool.reset_prefix_cache(), False, "Blocks 1 and 2 are in use.")
    expect(pool.take_events(), [])
    pool.free_blocks(block_ids[::-1])
    expect(pool.reset_prefix_cache(), True)
    expect(pool.take_events(), [{"type": "AllBlocksCleared"}])
    expect(pool.get_cached_block(hash_of("a")), None)
    expect(len(pool.get_new_blocks(3)), 3)
    expect(pool.take_events(), [], "All hashes are gone already.")
    expect(pool.reset_prefix_cache(), False)


@check(points=1, rule=COUNT, needs=("test_order_is_that_of_what_happened",), examples=30)
@given(st.binary(min_size=4, max_size=20))
def test_index_follows_the_pool(lesson: Any, steps: Any) -> None:
    """From the events alone the index knows how many blocks have each hash, at any time."""
    pool, index = pool_of(lesson, 8), lesson.PrefixIndex()
    # Requests of three blocks each; their texts are a family's, so that contents meet.
    running: list[tuple[str, list[int], int]] = []
    known: set[int] = set()
    for step in steps:
        operation, number = (
            ("start", "fill", "end", "start", "hit", "fill", "reset")[step % 7],
            step // 7,
        )
        match operation:
            case "start" if len(running) < 2:
                running.append(("ab"[number % 2], pool.get_new_blocks(3), 0))
            case "fill" if running:
                family, blocks, full = running.pop(number % len(running))
                names = hashes(*(family + "123"[:end] for end in (1, 2, 3)))
                new_full = min(3, full + 1 + number % 2)
                pool.cache_full_blocks(blocks, names, [0] * 12, full, new_full)
                running.append((family, blocks, new_full))
            case "end" if running:
                pool.free_blocks(running.pop(number % len(running))[1][::-1])
            case "hit":
                block = pool.get_cached_block(hash_of("ab"[number % 2] + "1"))
                if block is not None:
                    pool.touch([block])
                    pool.free_blocks([block])
            case "reset":
                pool.reset_prefix_cache()
        events = pool.take_events()
        for event in events:
            parent = event.get("parent_block_hash")
            require(parent is None or parent in known, "A parent was told before.", event=event)
            known.update(event.get("block_hashes", ()))
        index.apply(events)
        held = [pool.block_hash(block) for block in range(1, 8)]
        for name in hashes("a1", "a12", "a123", "b1", "b12", "b123"):
            expect(index.copies(external_block_hash(name)), held.count(name))


@check(points=1, rule=COUNT)
def test_copies_are_counted(lesson: Any) -> None:
    """A hash that was stored twice is there until it was removed twice."""
    index = lesson.PrefixIndex()
    stored: dict[str, Any] = {"type": "BlockStored", "block_hashes": numbers("a", "b")}
    a, b = numbers("a", "b")
    index.apply([stored, stored])
    expect([index.copies(a), index.copies(b)], [2, 2])
    index.apply(removed("b"))
    expect([index.copies(a), index.copies(b)], [2, 1], "One of two copies is gone.")
    index.apply([*removed("b"), *removed("b"), *removed("c")])
    expect([index.copies(b), index.copies(*numbers("c"))], [0, 0], "No count is below 0.")
    index.apply([stored])
    expect([index.copies(a), index.copies(b)], [3, 1])
    index.apply([{"type": "AllBlocksCleared"}, *removed("a")])
    expect([index.copies(a), index.copies(b)], [0, 0])
    index.apply([stored, {"type": "AllBlocksCleared"}, stored])
    expect([index.copies(a), index.copies(b)], [1, 1], "Stored after all blocks were cleared.")


@check(points=1, rule=REPLAY)
def test_replay_gives_what_is_kept(lesson: Any) -> None:
    """Batches are numbered from 0; a replay gives those that are kept, and an end mark."""
    for num_batches, start, buffer_steps in product((0, 1, 2, 3, 5), range(7), (1, 2, 3)):
        new_story()
        publisher = lesson.Publisher(buffer_steps)
        batches = [
            [{"type": "BlockRemoved", "block_hashes": [100 + number]}]
            for number in range(num_batches)
        ]
        for number, batch in enumerate(batches):
            expect(publisher.publish(batch), number)
        kept = range(max(start, num_batches - buffer_steps), num_batches)
        expected = [(number, batches[number]) for number in kept] + [(-1, [])]
        expect(publisher.replay(start), expected, f"The last {buffer_steps} batches are kept.")
        expect(publisher.replay(start), expected, "A replay takes nothing away.")
        expect(publisher.publish([]), num_batches, "Numbers go on.")


@check(points=1, rule=STORED, needs=("test_index_follows_the_pool",))
def test_engine_tells_the_same(lesson: Any) -> None:
    """With this pool an engine tells what the real engine tells, step by step."""
    twins: list[dict[str, Any]] = [
        {"id": "a", "prompt": {"length": 9, "seed": 1}, "max_tokens": 5},
        {"id": "b", "prompt": {"length": 9, "seed": 1}, "max_tokens": 5},
        {"id": "c", "prompt": {"length": 14, "seed": 2}, "max_tokens": 3, "arrival": 2},
        {"id": "d", "prompt": {"length": 9, "seed": 1}, "max_tokens": 2, "arrival": 9},
    ]
    engine = {"block_size": 4, "num_gpu_blocks": 8, "max_model_len": 28}
    data = {"engine": engine | {"enable_kv_cache_events": True}, "requests": twins}
    workload = parse_workload(data | {"reset_prefix_cache": [14]}, "twins")
    theirs = run_workload(workload, install(Parts(), lesson), free_order=True)
    engines = run_workload(workload, free_order=True)
    for mine, own in zip(theirs.steps, engines.steps, strict=False):
        expect(mine.to_dict(), own.to_dict(), f"Step {own.step} of the engine.")


@check(points=1, rule=CHUNKS)
def test_key_is_a_hit_when_it_is_stored(lesson: Any) -> None:
    """A key is pending from its offer on, a hit when its store is done, a miss if that failed."""
    manager = lesson.CPUOffloadingManager(3)
    expect(manager.prepare_store(keys("ab")), (keys("ab"), [0, 1], []))
    expect([manager.lookup(key) for key in keys("abc")], ["HIT_PENDING", "HIT_PENDING", "MISS"])
    manager.complete_store(keys("a"))
    expect([manager.lookup(key) for key in keys("ab")], ["HIT", "HIT_PENDING"])
    manager.complete_store(keys("ab"), False)
    expect([manager.lookup(key) for key in keys("ab")], ["HIT", "MISS"], "a was stored already.")
    expect(manager.prepare_load(keys("a")), [0])
    expect(manager.lookup(b"a"), "HIT", "A chunk that is read can be read by others.")
    manager.complete_store(keys("ac"))
    manager.complete_load(keys("a"))
    expect([manager.lookup(key) for key in keys("abc")], ["HIT", "MISS", "MISS"])
    expect(manager.prepare_store(keys("abc")), (keys("bc"), [2, 1], []), "a is there.")
    expect(manager.prepare_store(keys("abc")), ([], [], []), "b and c are on their way.")


@check(points=1, rule=ROOM, needs=("test_key_is_a_hit_when_it_is_stored",))
def test_store_is_all_or_nothing(lesson: Any) -> None:
    """Pending, pinned and offered chunks stay; without enough others nothing is stored."""
    for policy in ("lru", "arc"):
        new_story()
        manager = lesson.CPUOffloadingManager(4, policy)
        manager.prepare_store(keys("abc"))
        manager.complete_store(keys("abc"))
        manager.prepare_store(keys("d"))
        manager.prepare_load(keys("ab"))
        manager.prepare_load(keys("a"))
        manager.complete_load(keys("a"))
        manager.take_events()
        for offer in ("ef", "ce", "cef"):
            expect(manager.prepare_store(keys(offer)), None, "Only c may go, unless it is offered.")
        expect(
            [manager.lookup(key) for key in keys("abcdef")],
            ["HIT", "HIT", "HIT", "HIT_PENDING", "MISS", "MISS"],
            "Nothing has changed.",
        )
        expect(manager.take_events(), [])
        expect(manager.prepare_store(keys("e")), (keys("e"), [2], keys("c")))
        manager.complete_load(keys("b"))
        expect(manager.prepare_store(keys("f")), (keys("f"), [1], keys("b")), "a has a load left.")
        manager.complete_load(keys("a"))
        expect(manager.prepare_store(keys("g")), (keys("g"), [0], keys("a")))


@check(points=1, rule=IDS, needs=("test_key_is_a_hit_when_it_is_stored",))
def test_fresh_ids_come_first(lesson: Any) -> None:
    """Ids never used are given first, in order; then the one given back last."""
    manager = lesson.CPUOffloadingManager(4)
    expect(manager.prepare_store(keys("abc")), (keys("abc"), [0, 1, 2], []))
    manager.complete_store(keys("ab"), False)
    expect(manager.prepare_store(keys("de")), (keys("de"), [3, 1], []), "3 was never used.")
    manager.complete_store(keys("cde"))
    expect(manager.prepare_store(keys("fgh")), (keys("fgh"), [3, 2, 0], keys("cd")))
    manager.complete_store(keys("fgh"))
    manager.take_events()
    manager.reset_cache()
    expect([manager.lookup(key) for key in KEYS], ["MISS"] * 8)
    expect(manager.prepare_store(keys("hg")), (keys("hg"), [0, 1], []), "As at the start.")


@check(points=1, rule=TOUCH, needs=("test_store_is_all_or_nothing",))
def test_first_touched_key_goes_last(lesson: Any) -> None:
    """Of the keys touched together the first one is the most recent; a lookup is no use."""
    manager = lesson.CPUOffloadingManager(4)
    manager.prepare_store(keys("abcd"))
    manager.complete_store(keys("abcd"))
    manager.touch(keys("ab"))
    for _ in range(2):
        manager.lookup(b"d")
    manager.prepare_load(keys("c"))
    expect(
        manager.prepare_store(keys("efg")),
        (keys("efg"), [0, 1, 3], keys("dba")),
        "c is read; of the others d was used longest ago, then b.",
    )
    new_story()
    manager = lesson.CPUOffloadingManager(3)
    manager.prepare_store(keys("abc"))
    manager.complete_store(keys("cab"))
    manager.prepare_load(keys("c"))
    manager.touch(keys("c"))
    manager.complete_load(keys("c"))
    expect(
        manager.prepare_store(keys("def")),
        (keys("def"), [2, 1, 0], keys("abc")),
        "They became evictable in this order; the load of c has ended last.",
    )


#: A byte says what is done, and with which of six keys.
STEPS = st.binary(min_size=15, max_size=50)
OPERATIONS = ("store", "touch", "done", "load", "read", "fail", "touch")


def play(manager: Any, steps: bytes) -> None:
    """Operations on a twin, those of them that a caller may make."""
    loads: list[list[bytes]] = []
    for step in steps:
        operation, number = OPERATIONS[step % 7], step // 7
        some = [KEYS[(number + 5 * index) % 6] for index in range(1 + number // 6 % 3)]
        match operation:
            case "store":
                manager.prepare_store(some)
                # Most stores are done before the next one begins.
                if len(some) < 3:
                    manager.complete_store(some)
            case "done" | "fail":
                manager.complete_store(some, operation == "done")
            case "load":
                there = [key for key in some if manager.reference.lookup(key) == "HIT"]
                if there:
                    manager.prepare_load(there)
                    loads.append(there)
            case "read" if loads:
                manager.complete_load(loads.pop(0))
            case "touch":
                manager.touch(some)
    manager.take_events()
    for key in KEYS[:6]:
        manager.lookup(key)


def twin_of(lesson: Any, *args: Any) -> Any:
    return compare(lesson.CPUOffloadingManager(*args), CPUOffloadingManager(*args))


#: Which of a to e are used again before all five are evicted, which of their ghosts are touched
#: then, one by one, and the target after that.
TAUGHT = (
    ("abc", "dd", 3, "3 / 2 for each touch of d"),
    ("de", "aaaaadd", 2, "1 for each touch of a, and - 3 / 2 for each of d"),
    ("abcd", "eeaaa", 2, "4 / 1 for each touch of e, but 5 at most, and - 1 for each of a"),
    ("abc", "aaadd", 3, "not less than 0, and 3 / 2 for each touch of d"),
)


@check(points=1, rule=LRU, needs=("test_first_touched_key_goes_last",), examples=30)
@given(st.integers(1, 4), STEPS)
def test_lru_is_the_engines(lesson: Any, num_chunks: Any, steps: Any) -> None:
    """Under LRU the manager answers as the engine's does, whatever happens."""
    play(twin_of(lesson, num_chunks, "lru"), steps)


@check(points=1, rule=LRU, needs=("test_store_is_all_or_nothing",))
def test_lru_does_not_search(lesson: Any) -> None:
    """Under LRU an eviction does not take longer when many chunks are being read."""

    def seconds(num_pinned: int) -> float:
        manager = lesson.CPUOffloadingManager(num_pinned + 1)
        pinned = [number.to_bytes(4, "big") for number in range(num_pinned)]
        manager.prepare_store(pinned)
        manager.complete_store(pinned)
        manager.prepare_load(pinned)

        def replace_one(number: int) -> None:
            key = [b"new" + number.to_bytes(4, "big")]
            manager.prepare_store(key)
            manager.complete_store(key)

        # The first one finds a slot that is free, so nothing is evicted for it.
        replace_one(0)
        return quickest(replace_one, range(1, 16))

    few, many = 100, 50_000
    require(
        seconds(many) < 4 * seconds(few) + 0.0001,
        f"With {many:,} chunks being read an eviction takes many times as long as with {few}: "
        "they are searched for one that may go. Those that may go should have a list of their own.",
    )


@check(points=1, rule=ARC, needs=("test_store_is_all_or_nothing",))
def test_arc_knows_once_and_again(lesson: Any) -> None:
    """Under ARC a chunk used again outlives those used once; a new one is never used again."""
    manager = lesson.CPUOffloadingManager(3, "arc")
    manager.prepare_store(keys("abc"))
    manager.touch(keys("a"))
    manager.complete_store(keys("abc"))
    manager.touch(keys("b"))
    expect(
        manager.prepare_store(keys("d")),
        (keys("d"), [2], keys("c")),
        "b was used again; a was touched while it was stored, which only put it behind c.",
    )
    manager.complete_store(keys("d"))
    expect(manager.prepare_store(keys("e")), (keys("e"), [0], keys("a")))
    manager.complete_store(keys("e"))
    expect(
        manager.prepare_store(keys("c")),
        (keys("c"), [2], keys("d")),
        "c is known as a ghost, but it comes back as one used once.",
    )
    manager.complete_store(keys("c"))
    expect(manager.prepare_store(keys("f")), (keys("f"), [0], keys("e")))
    manager.complete_store(keys("f"))
    expect(manager.prepare_store(keys("g")), (keys("g"), [2], keys("c")), "c went before b.")
    new_story()
    manager = lesson.CPUOffloadingManager(3, "arc")
    manager.prepare_store(keys("abc"))
    manager.complete_store(keys("abc"))
    manager.prepare_load(keys("a"))
    manager.complete_load(keys("a"))
    manager.touch(keys("cb"))
    manager.touch(keys("c"))
    expect(
        manager.prepare_store(keys("def")),
        (keys("def"), [2, 1, 0], keys("abc")),
        "A load is no use. When those used once are gone, b goes before c.",
    )


def fill_with_ghosts(manager: Any, again: str) -> dict[str, int]:
    """Store a to e and, when those in ``again`` were used again, f to j for them; their slots."""
    manager.prepare_store(keys("abcde"))
    manager.complete_store(keys("abcde"))
    manager.touch(keys(again))
    evicted = [key for key in "abcde" if key not in again] + [*reversed(again)]
    slots = ["abcde".index(key) for key in reversed(evicted)]
    expect(manager.prepare_store(keys("fghij")), (keys("fghij"), slots, keys("".join(evicted))))
    manager.complete_store(keys("fghij"))
    return dict(zip("fghij", slots, strict=True))


@check(points=1, rule=TARGET, needs=("test_arc_knows_once_and_again",))
def test_ghosts_move_the_target(lesson: Any) -> None:
    """A touched ghost of T1 makes T1 larger, one of T2 smaller, from 0 to the capacity."""
    manager = lesson.CPUOffloadingManager(3, "arc")
    manager.prepare_store(keys("abc"))
    manager.complete_store(keys("abc"))
    manager.touch(keys("ab"))
    expect(manager.prepare_store(keys("d")), (keys("d"), [2], keys("c")))
    manager.complete_store(keys("d"))
    manager.touch(keys("c"))
    manager.touch(keys("c"))
    expect(
        manager.prepare_store(keys("e")),
        (keys("e"), [1], keys("b")),
        "The ghost of c was touched twice: T1 should have 2, and has only d, so T2 gives b.",
    )
    manager.complete_store(keys("e"))
    expect(
        manager.prepare_store(keys("f")),
        (keys("f"), [2], keys("d")),
        "T1 has 2 now, as it should: it gives one itself.",
    )
    manager.complete_store(keys("f"))
    manager.touch(keys("f"))
    manager.touch(keys("b"))
    expect(
        manager.prepare_store(keys("g")),
        (keys("g"), [1], keys("e")),
        "T1 has e alone, which was too few for a target of 2, but the ghost of b was touched.",
    )
    for again, touched, target, reason in TAUGHT:
        new_story()
        manager = lesson.CPUOffloadingManager(5, "arc")
        slots = fill_with_ghosts(manager, again)
        for ghost in touched:
            manager.touch(keys(ghost))
        manager.touch(keys("fg"))
        victims = "hij"[: 4 - target] + "gf"[: target - 1]
        expect(
            manager.prepare_store(keys("klm")),
            (keys("klm"), [slots[key] for key in reversed(victims)], keys(victims)),
            f"The target is {target}: {reason}. T1 has 3, and gives as long as it has that many.",
        )
    new_story()
    manager = lesson.CPUOffloadingManager(5, "arc")
    fill_with_ghosts(manager, "")
    manager.touch(keys("fg"))
    expect(manager.prepare_store(keys("klm")), (keys("klm"), [0, 1, 2], keys("hij")))
    manager.complete_store(keys("klm"))
    for ghost in "hida":
        manager.touch(keys(ghost))
    expect(
        manager.prepare_store(keys("nop")),
        (keys("nop"), [4, 3, 0], keys("kgf")),
        "The target is 3: h, i and d are ghosts. a is none any more: B1 keeps the last five.",
    )


@check(points=1, rule=ARC, needs=("test_ghosts_move_the_target",), examples=30)
@given(st.integers(1, 4), STEPS)
def test_arc_is_the_engines(lesson: Any, num_chunks: Any, steps: Any) -> None:
    """Under ARC the manager answers as the engine's does, whatever happens."""
    play(twin_of(lesson, num_chunks, "arc"), steps)


@check(points=1, rule=THRESHOLD, needs=("test_key_is_a_hit_when_it_is_stored",))
def test_key_is_stored_from_its_nth_offer(lesson: Any) -> None:
    """With a threshold of n a key is stored from its n-th counted offer on."""
    for threshold in range(5):
        new_story()
        manager = lesson.CPUOffloadingManager(1, "lru", threshold)
        for offer in range(1, threshold):
            expect(manager.prepare_store(keys("a")), ([], [], []), f"Offer {offer} of {threshold}.")
        expect(manager.prepare_store(keys("a")), (keys("a"), [0], []))
        for offer in range(1, threshold):
            expect(manager.prepare_store(keys("b")), ([], [], []), f"Offer {offer} of {threshold}.")
        for _ in range(2):
            expect(manager.prepare_store(keys("b")), None, "a is still being stored.")
        manager.complete_store(keys("a"))
        manager.reset_cache()
        expect(manager.prepare_store(keys("ba")), None, "Both are known, and only one has room.")
        expect(manager.prepare_store(keys("b")), (keys("b"), [0], []), "Counts outlive a reset.")
    new_story()
    manager = lesson.CPUOffloadingManager(2, "lru", 1, 1)
    expect(
        manager.prepare_store(keys("ab")),
        (keys("ab"), [0, 1], []),
        "Below a threshold of 2 no offers are counted.",
    )
    new_story()
    manager = lesson.CPUOffloadingManager(8, "lru", 2, 2)
    manager.prepare_store(keys("ab"))
    manager.prepare_store(keys("c"))
    expect(manager.prepare_store(keys("a")), ([], [], []), "The count of a made room for c's.")
    expect(manager.prepare_store(keys("c")), (keys("c"), [0], []), "b's made room for a's.")
    expect(
        manager.prepare_store(keys("cade")),
        (keys("a"), [1], []),
        "c and a are offered, so none of the two counts makes room for d's.",
    )
    expect(manager.prepare_store(keys("d")), ([], [], []))
    expect(manager.prepare_store(keys("da")), (keys("d"), [2], []), "c's count made room.")
    new_story()
    manager = lesson.CPUOffloadingManager(8, "lru", 2, 3)
    manager.prepare_store(keys("abc"))
    expect(
        manager.prepare_store(keys("cdef")),
        (keys("c"), [0], []),
        "d and e take the places of a and b, and none is left for f: c is offered itself.",
    )
    expect(manager.prepare_store(keys("e")), (keys("e"), [1], []), "e was counted.")
    new_story()
    twin = twin_of(lesson, 3, "lru", 2, 3)
    for letters in ("abc", "da", "bcd", "ad", "cb", "bd", "a", "cad", "dcb", "b", "abd"):
        twin.prepare_store(keys(letters))
        twin.complete_store(keys(letters))


@check(points=1, rule=TOLD, needs=("test_store_is_all_or_nothing",))
def test_stores_and_evictions_are_told(lesson: Any) -> None:
    """A store is told when it is done, an eviction when it is decided; failures are not told."""
    manager = lesson.CPUOffloadingManager(2)
    manager.prepare_store(keys("ab"))
    expect(manager.take_events(), [], "Nothing is stored yet.")
    manager.complete_store(keys("ba"))
    manager.complete_store(keys("ab"))
    expect(manager.take_events(), [{"keys": keys("ba"), "removed": False}], "Only once.")
    manager.prepare_store(keys("cd"))
    manager.complete_store(keys("c"), False)
    manager.complete_store(keys("d"))
    manager.prepare_load(keys("d"))
    manager.touch(keys("d"))
    expect(
        manager.take_events(),
        [{"keys": keys("ba"), "removed": True}, {"keys": keys("d"), "removed": False}],
    )
    manager.prepare_store(keys("ef"))
    manager.reset_cache()
    expect(manager.take_events(), [], "A reset is not told.")
