"""Hidden suite of ``kv_cache/block_pool``."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from grader.checks import check, compare, expect, expect_error, quickest, require, story
from grader.parts.kv_cache.block_pool import install
from reference.block_pool import BlockPool
from reference.engine import Parts, run_workload
from reference.kv_cache_utils import FreeKVCacheBlockQueue
from reference.workload import parse_workload

LIST = "One list"
HAND_OUT = "Handing out"
USERS = "Counting users"
GIVE_BACK = "Giving back"
NAMES = "Naming what is full"
COPIES = "Copies"
FORGET = "Forgetting on purpose"
NULL = "The null block"
USAGE = "How full is it"


def hashes(*letters: str) -> list[bytes]:
    return [letter.encode() for letter in letters]


@check(points=1, rule=LIST)
@given(
    st.permutations(range(1, 7)),
    st.lists(
        st.tuples(
            st.sampled_from(["popleft", "popleft_n", "remove", "append", "append_n", "prepend_n"]),
            st.integers(0, 3),
        ),
        max_size=10,
    ),
)
def test_queue_keeps_its_order(lesson: Any, block_ids: Any, operations: Any) -> None:
    """The free list gives the order that its operations left."""
    queue = compare(lesson.FreeKVCacheBlockQueue(block_ids), FreeKVCacheBlockQueue(block_ids))
    expect(queue.theirs.get_all_free_blocks(), list(block_ids), "The ids, in the order given.")
    out: list[int] = []
    for operation, number in operations:
        free = queue.reference.get_all_free_blocks()
        match operation:
            case "popleft" if free:
                out.append(queue.popleft())
            case "popleft_n":
                out += queue.popleft_n(min(number, len(free)))
            case "remove" if free:
                out.append(free[number % len(free)])
                queue.remove(out[-1])
            case "append" if out:
                queue.append(out.pop())
            case "append_n" | "prepend_n":
                back, out = out[:number], out[number:]
                getattr(queue, operation)(back)
        queue.get_all_free_blocks()
        expect(queue.theirs.num_free_blocks, queue.reference.num_free_blocks)


@check(points=1, rule=LIST)
def test_queue_refuses(lesson: Any) -> None:
    """The free list refuses what is not there."""
    queue = lesson.FreeKVCacheBlockQueue([3, 1, 2])
    queue.remove(1)
    expect_error(lambda: queue.remove(1), "RuntimeError", "Block 1 is not in the list any more.")
    expect(queue.popleft(), 3)
    expect_error(lambda: queue.remove(3), "RuntimeError", "Block 3 was popped.")
    expect(queue.get_all_free_blocks(), [2], "A refused call changes nothing.")
    expect(queue.popleft(), 2)
    expect_error(queue.popleft, "ValueError", "The list is empty.")
    expect(queue.num_free_blocks, 0)
    queue.append(3)
    expect(queue.get_all_free_blocks(), [3], "A list that was empty takes blocks again.")


@check(points=1, rule=LIST, needs=("test_queue_keeps_its_order",))
def test_queue_removes_without_looking(lesson: Any) -> None:
    """Removing a block takes the same time in a long free list as in a short one."""
    short, long = 400, 200_000

    def seconds(length: int) -> float:
        queue = lesson.FreeKVCacheBlockQueue(list(range(length)))
        return quickest(queue.remove, range(length // 2, length // 2 + 60))

    require(
        seconds(long) < 5 * seconds(short) + 0.0001,
        f"To remove a block from the middle of {long:,} takes many times as long as from the "
        f"middle of {short}: it is searched for. A block should know its neighbours.",
    )


@check(points=1, rule=HAND_OUT)
@given(st.integers(0, 4), st.integers(0, 3))
def test_allocation_takes_the_head(lesson: Any, first: Any, second: Any) -> None:
    """Blocks are handed out from the head of the free list, each with one user."""
    pool = lesson.BlockPool(8)
    expect(pool.get_new_blocks(first), list(range(1, first + 1)))
    expect(pool.get_new_blocks(second), list(range(first + 1, first + second + 1)))
    expect(pool.get_num_free_blocks(), 7 - first - second)
    expect(pool.free_order(), list(range(first + second + 1, 8)))
    for block_id in range(1, 8):
        expect(pool.ref_cnt(block_id), 1 if block_id <= first + second else 0)


@check(points=1, rule=HAND_OUT)
def test_allocation_is_all_or_nothing(lesson: Any) -> None:
    """Asking for more blocks than are free is a ValueError and changes nothing."""
    pool = lesson.BlockPool(5)
    pool.cache_full_blocks(pool.get_new_blocks(1), hashes("a"), 0, 1)
    pool.free_blocks([1])
    expect_error(lambda: pool.get_new_blocks(5), "ValueError", "Only 4 of 5 can be handed out.")
    expect(pool.free_order(), [2, 3, 4, 1])
    expect(pool.get_cached_block(b"a"), 1)
    expect(pool.get_new_blocks(4), [2, 3, 4, 1])
    expect(pool.get_new_blocks(0), [], "Nothing can be had even of an empty pool.")
    expect_error(lambda: pool.get_new_blocks(1), "ValueError", "The pool is empty.")


@check(points=2, rule=GIVE_BACK, needs=("test_allocation_takes_the_head",))
@given(st.data())
def test_freed_blocks_go_to_both_ends(lesson: Any, data: Any) -> None:
    """Freed blocks without a hash go to the front, those with one to the end."""
    pool = lesson.BlockPool(8)
    blocks = pool.get_new_blocks(5)
    num_full = data.draw(st.integers(0, 5), label="full blocks")
    pool.cache_full_blocks(blocks, hashes("a", "b", "c", "d", "e"), 0, num_full)
    order = data.draw(st.permutations(blocks), label="order of the blocks")
    given_back = order[: data.draw(st.integers(1, 5), label="how many are given back")]
    pool.free_blocks(given_back)
    front = [block_id for block_id in given_back if block_id > num_full]
    end = [block_id for block_id in given_back if block_id <= num_full]
    expect(pool.free_order(), [*front, 6, 7, *end], "Each side keeps the order given.")
    for block_id in end:
        expect(
            pool.get_cached_block(b"abcde"[block_id - 1 : block_id]),
            block_id,
            "A block that is freed keeps its hash.",
        )


@check(points=1, rule=USERS, needs=("test_allocation_takes_the_head",))
@given(st.integers(1, 3))
def test_shared_block_is_freed_by_its_last_user(lesson: Any, num_users: Any) -> None:
    """A shared block becomes free when its last user gives it back, and not before."""
    pool = lesson.BlockPool(6)
    blocks = pool.get_new_blocks(2)
    for _ in range(num_users):
        pool.touch([1])
    expect(pool.ref_cnt(1), 1 + num_users)
    expect(pool.free_order(), [3, 4, 5], "Block 1 was in use: touching it moves nothing.")
    pool.free_blocks(blocks[::-1])
    for users_left in range(num_users, 0, -1):
        expect(pool.ref_cnt(1), users_left)
        expect(pool.free_order(), [2, 3, 4, 5], f"Block 1 still has {users_left} of its users.")
        pool.free_blocks([1])
    expect(pool.ref_cnt(1), 0)
    expect(pool.free_order(), [1, 2, 3, 4, 5])


@check(points=1, rule=USERS, needs=("test_freed_blocks_go_to_both_ends",))
def test_hit_block_starts_again_at_the_end(lesson: Any) -> None:
    """A free block that is touched leaves the free list, and comes back at its end."""
    pool = lesson.BlockPool(6)
    pool.cache_full_blocks(pool.get_new_blocks(3), hashes("a", "b", "c"), 0, 3)
    pool.free_blocks([3, 2, 1])
    expect(pool.free_order(), [4, 5, 3, 2, 1])
    pool.touch([3, 2])
    expect(pool.free_order(), [4, 5, 1], "3 and 2 are in use again.")
    expect(pool.get_num_free_blocks(), 3)
    expect([pool.ref_cnt(block_id) for block_id in (1, 2, 3)], [0, 1, 1])
    expect(pool.get_cached_block(b"c"), 3, "A block in use can be found too.")
    pool.free_blocks([3])
    pool.free_blocks([2])
    expect(pool.free_order(), [4, 5, 1, 3, 2], "Used last, reused last.")


@check(points=1, rule=HAND_OUT, needs=("test_freed_blocks_go_to_both_ends",))
@given(st.integers(0, 3), st.integers(0, 3), st.integers(0, 7))
def test_allocation_evicts_what_it_hands_out(
    lesson: Any, full_of_a: Any, full_of_b: Any, num_blocks: Any
) -> None:
    """A hash lasts until its block is handed out again, and no longer."""
    pool = lesson.BlockPool(8)
    a, b = pool.get_new_blocks(3), pool.get_new_blocks(3)
    pool.cache_full_blocks(a, hashes("a1", "a2", "a3"), 0, full_of_a)
    pool.cache_full_blocks(b, hashes("b1", "b2", "b3"), 0, full_of_b)
    held = {block_id: pool.block_hash(block_id) for block_id in (*a, *b)}
    pool.free_blocks(a[::-1])
    pool.free_blocks(b[::-1])
    order = pool.free_order()
    expect(pool.get_new_blocks(num_blocks), order[:num_blocks])
    for block_id, block_hash in held.items():
        if block_hash is None:
            continue
        if block_id in order[:num_blocks]:
            expect(pool.get_cached_block(block_hash), None, f"Block {block_id} was handed out.")
            expect(pool.block_hash(block_id), None, f"Block {block_id} was handed out.")
        else:
            expect(pool.get_cached_block(block_hash), block_id, "It is still free.")
            expect(pool.block_hash(block_id), block_hash)


@check(points=1, rule=COPIES)
@given(st.permutations([1, 2, 3]))
def test_oldest_copy_that_is_left_is_found(lesson: Any, cached: Any) -> None:
    """Of several blocks with one hash, the one cached first is found while it lasts."""
    pool = lesson.BlockPool(6)
    pool.get_new_blocks(3)
    for block_id in cached:
        pool.cache_full_blocks([block_id], hashes("same"), 0, 1)
    for i, block_id in enumerate(cached):
        expect(
            pool.get_cached_block(b"same"), block_id, f"Left, in the order cached: {cached[i:]}."
        )
        pool.evict_blocks([block_id])
    expect(pool.get_cached_block(b"same"), None, "No copy is left.")
    pool.cache_full_blocks([2], hashes("same"), 0, 1)
    expect(pool.get_cached_block(b"same"), 2)


@check(points=1, rule=NAMES)
@given(st.integers(0, 4), st.integers(0, 4))
def test_only_the_newly_full_get_a_hash(lesson: Any, num_cached: Any, num_full: Any) -> None:
    """Only the blocks from num_cached_blocks up to num_full_blocks get their hash."""
    pool = lesson.BlockPool(6)
    names = hashes("a", "b", "c", "d")
    pool.cache_full_blocks(pool.get_new_blocks(5), names, num_cached, num_full)
    for i in range(5):
        named = num_cached <= i < num_full
        expect(pool.block_hash(i + 1), names[i] if named else None)
        if i < 4:
            expect(pool.get_cached_block(names[i]), i + 1 if named else None)
    expect(pool.get_cached_block(b"never cached"), None)
    expect(pool.ref_cnt(1), 1, "To cache is not to use.")


@check(points=1, rule=NAMES)
def test_block_is_named_once(lesson: Any) -> None:
    """A block that already has a hash cannot be given one: AssertionError."""
    pool = lesson.BlockPool(6)
    blocks = pool.get_new_blocks(2)
    pool.cache_full_blocks(blocks, hashes("a", "b"), 0, 1)
    expect_error(
        lambda: pool.cache_full_blocks(blocks, hashes("a", "b"), 0, 1),
        "AssertionError",
        "Block 1 has its hash already.",
    )
    pool.cache_full_blocks(blocks, hashes("a", "b"), 1, 1)
    expect(pool.block_hash(2), None, "From 1 up to 1 there is no block.")
    pool.cache_full_blocks(blocks, hashes("a", "b"), 1, 2)
    expect(pool.get_cached_block(b"b"), 2)


@check(points=1, rule=FORGET, needs=("test_freed_blocks_go_to_both_ends",))
def test_evicted_block_stays_where_it_is(lesson: Any) -> None:
    """evict_blocks takes the hash away and leaves the block where it is."""
    pool = lesson.BlockPool(7)
    pool.cache_full_blocks(pool.get_new_blocks(4), hashes("a", "b", "c", "d"), 0, 4)
    pool.free_blocks([4, 3, 2])
    pool.evict_blocks([1, 3, 5])
    expect(pool.free_order(), [5, 6, 4, 3, 2], "No block has moved.")
    expect([pool.block_hash(block_id) for block_id in (1, 2, 3, 4)], [None, b"b", None, b"d"])
    expect(pool.get_cached_block(b"a"), None)
    expect(pool.get_cached_block(b"c"), None)
    expect(pool.ref_cnt(1), 1, "Block 1 is still in use.")
    pool.free_blocks([1])
    expect(pool.free_order(), [1, 5, 6, 4, 3, 2], "Block 1 has no hash any more.")


@check(points=1, rule=FORGET, needs=("test_freed_blocks_go_to_both_ends",))
def test_reset_is_all_or_nothing(lesson: Any) -> None:
    """reset_prefix_cache forgets every hash, or nothing at all while a block is in use."""
    pool = lesson.BlockPool(6)
    pool.cache_full_blocks(pool.get_new_blocks(3), hashes("a", "b", "b"), 0, 3)
    pool.free_blocks([3, 2])
    expect(pool.reset_prefix_cache(), False, "Block 1 is in use.")
    expect(pool.get_cached_block(b"a"), 1)
    expect(pool.get_cached_block(b"b"), 2)
    pool.free_blocks([1])
    expect(pool.reset_prefix_cache(), True, "Only the null block is not free.")
    expect([pool.get_cached_block(name) for name in hashes("a", "b")], [None, None])
    expect([pool.block_hash(block_id) for block_id in range(1, 6)], [None] * 5)
    expect(pool.free_order(), [4, 5, 3, 2, 1], "The order of the free list stays.")
    expect(pool.reset_prefix_cache(), True)
    pool.cache_full_blocks(pool.get_new_blocks(1), hashes("a"), 0, 1)
    expect(pool.get_cached_block(b"a"), 4, "The pool caches again.")


@check(points=1, rule=NULL, needs=("test_allocation_takes_the_head",))
def test_null_block_is_passed_over(lesson: Any) -> None:
    """Block 0 is never handed out, never found and never free."""
    pool = lesson.BlockPool(5)
    expect(pool.get_num_free_blocks(), 4)
    table = [0, *pool.get_new_blocks(1)]
    expect(table, [0, 1])
    pool.cache_full_blocks(table, hashes("x", "a"), 0, 2)
    expect([pool.get_cached_block(name) for name in hashes("x", "a")], [None, 1])
    pool.touch(table)
    expect(pool.ref_cnt(1), 2)
    expect(pool.free_order(), [2, 3, 4])
    for order in ([2, 3, 4], [2, 3, 4, 1]):
        pool.free_blocks(table)
        expect(pool.free_order(), order)
    expect(pool.reset_prefix_cache(), True)


@check(points=1, rule=USAGE)
@given(st.integers(2, 9), st.data())
def test_usage_counts_what_can_be_handed_out(lesson: Any, num_gpu_blocks: Any, data: Any) -> None:
    """The usage is the share in use of the blocks that can be handed out."""
    used = data.draw(st.integers(0, num_gpu_blocks - 1))
    pool = lesson.BlockPool(num_gpu_blocks)
    pool.get_new_blocks(used)
    expect(pool.get_usage(), 1.0 - (num_gpu_blocks - 1 - used) / (num_gpu_blocks - 1))
    usage = lesson.BlockPool(1).get_usage()
    require(usage == 0, "A pool with nothing but the null block has a usage of 0.", usage=usage)


@check(points=1, rule=GIVE_BACK, needs=("test_freed_blocks_go_to_both_ends",))
@given(st.permutations([1, 2, 3, 4]))
def test_without_caching_all_go_to_the_front(lesson: Any, order: Any) -> None:
    """With caching off every freed block goes to the front: last in, first out."""
    pool = lesson.BlockPool(7, False)
    pool.cache_full_blocks(pool.get_new_blocks(4), hashes("a", "b"), 0, 2)
    for block_id in order:
        pool.free_blocks([block_id])
    expect(pool.free_order(), [*order[::-1], 5, 6])


OPERATION = st.tuples(
    st.sampled_from(["start", "fill", "end", "share", "evict", "reset"]),
    st.integers(0, 4),
    st.sampled_from("xy"),
)


@check(
    points=1,
    rule="How it really works",
    needs=(
        "test_queue_keeps_its_order",
        "test_shared_block_is_freed_by_its_last_user",
        "test_hit_block_starts_again_at_the_end",
        "test_allocation_evicts_what_it_hands_out",
        "test_oldest_copy_that_is_left_is_found",
        "test_only_the_newly_full_get_a_hash",
        "test_reset_is_all_or_nothing",
    ),
)
@given(st.lists(OPERATION, min_size=8, max_size=16))
def test_pool_follows_the_engine(lesson: Any, operations: Any) -> None:
    """Whatever requests come and go, the pool is the engine's, block by block."""
    pool = compare(lesson.BlockPool(8), BlockPool(8))
    tables: list[list[int]] = []  # the blocks of each running request
    names: list[list[bytes]] = []  # their hashes: those of two requests are equal or all different
    cached: list[bytes] = []
    for operation, number, letter in operations:
        which = number % len(tables) if tables else 0
        match operation:
            case "start" if 0 < number <= pool.get_num_free_blocks():
                tables.append(pool.get_new_blocks(number))
                names.append(hashes(*(f"{letter}{i}" for i in range(number))))
                pool.cache_full_blocks(tables[-1], names[-1], 0, number - 1)
                cached += names[-1][:-1]
            case "fill" if tables and pool.block_hash(tables[which][-1]) is None:
                last = len(tables[which]) - 1
                pool.cache_full_blocks(tables[which], names[which], last, last + 1)
                cached.append(names[which][-1])
            case "end" if tables:
                pool.free_blocks(tables.pop(which)[::-1])
                names.pop(which)
            case "share" if cached:
                name = cached[number % len(cached)]
                hit = pool.get_cached_block(name)
                if hit is not None:
                    pool.touch([hit])
                    tables.append([hit])
                    names.append([name])
            case "evict" if cached:
                pool.evict_blocks([number, number + 2])
            case "reset" if cached:
                pool.reset_prefix_cache()
            case _:
                continue
        pool.free_order()
    for block_id in range(1, 8):
        pool.ref_cnt(block_id)
        pool.block_hash(block_id)
    for name in dict.fromkeys(cached):
        pool.get_cached_block(name)
    pool.get_usage()


TWELVE = {"prefix": "twelve", "length": 0}
CONVERSATIONS = [
    {"id": "twin", "prompt": TWELVE, "max_tokens": 3},
    {"id": "other twin", "prompt": TWELVE, "max_tokens": 6},
    {"id": "longer", "prompt": TWELVE | {"length": 2, "seed": 1}, "max_tokens": 4, "arrival": 7},
    {"id": "large", "prompt": {"length": 21, "seed": 2}, "max_tokens": 9, "arrival": 8},
    {"id": "next", "prompt": {"length": 14, "seed": 3}, "max_tokens": 9, "arrival": 9},
    {"id": "late", "prompt": TWELVE | {"length": 1, "seed": 1}, "max_tokens": 2, "arrival": 23},
    {"id": "latest", "prompt": TWELVE | {"length": 2, "seed": 1}, "max_tokens": 2, "arrival": 27},
]


@check(points=1, rule="How it really works", needs=("test_pool_follows_the_engine",))
def test_engine_runs_on_it(lesson: Any) -> None:
    """The whole engine, run on this pool, makes the same decisions as on its own."""
    for caching in (True, False):
        story(
            "Seven requests share 11 blocks of 4 tokens; five start with the same 12 tokens; "
            f"prefix caching is {'on' if caching else 'off'}."
        )
        workload = parse_workload(
            {
                "engine": {
                    "block_size": 4,
                    "num_gpu_blocks": 12,
                    "max_model_len": 44,
                    "max_num_batched_tokens": 24,
                    "enable_prefix_caching": caching,
                },
                "max_steps": 60,
                "prefixes": {"twelve": {"length": 12, "seed": 7}},
                "reset_prefix_cache": [26],
                "requests": CONVERSATIONS,
            },
            "seven requests",
        )
        theirs = run_workload(workload, install(Parts(), lesson), free_order=True)
        engines = run_workload(workload, free_order=True)
        for mine, own in zip(theirs.steps, engines.steps, strict=False):
            expect(mine.to_dict(), own.to_dict(), f"Step {own.step} of the engine.")
        expect(theirs.outputs, engines.outputs, "The tokens that the requests got.")
