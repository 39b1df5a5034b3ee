"""Hidden suite of ``kv_cache/block_hashing``."""

from functools import partial
from math import gcd, lcm
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from grader.checks import check, compare, expect, expect_error, quickest, require, story
from grader.parts.kv_cache.block_hashing import install
from reference.engine import Parts, run_workload
from reference.hashing import cbor_dumps
from reference.kv_cache_utils import RequestHashes
from reference.workload import parse_workload

BYTES = "From values to bytes"
CHAIN = "A chain"
SEED = "The first parent"
FULL = "Only full blocks, and each once"
EXTRA = "What tokens do not say"
SIZES = "Two sizes"
GROUPS = "A key for each group"

HASH_NAMES = st.sampled_from(["sha256", "sha256_cbor"])
TOKENS = st.integers(0, 150_000)
SCALARS = (
    st.none()
    | st.integers(-(2**64), 2**64 - 1)
    | st.sampled_from([-1, 23, 24, 255, 256, 65_535, 65_536, 2**32 - 1, 2**32])
    | st.binary(max_size=30)
    | st.text(alphabet="aé→", max_size=30)
)
VALUES = SCALARS | st.lists(SCALARS | st.lists(SCALARS, max_size=3).map(tuple), max_size=4).map(
    tuple
)


@check(points=1, rule=BYTES)
@given(VALUES)
@example(("",))
@example((None, b"\x00" * 256, "é", (-11, 300)))
def test_cbor_is_canonical(lesson: Any, value: Any) -> None:
    """Each value has one spelling in CBOR, the shortest."""
    expect(lesson.cbor_dumps(value), cbor_dumps(value))


@check(points=1, rule=CHAIN, needs=("test_cbor_is_canonical", "test_first_parent"))
def test_digests_are_vllms(lesson: Any) -> None:
    """The hash of a block is the one that vLLM gives, byte by byte."""
    hash_block = lesson.hash_block_tokens
    first = bytes.fromhex("786f9bbddcb5139e76c24f3ad8bb4e4b20647409291b3f2c769f6f0a874bb774")
    expect(hash_block("sha256", None, [1, 2]), first)
    expect(hash_block("sha256", b"", [1, 2]), first, "Empty bytes stand for no parent, too.")
    expect(
        hash_block("sha256", first, [3, 4]),
        bytes.fromhex("15b2160580ca3cdf7f42fb9f5651e2bed7fb1014f46e7e9c86c305f088ecb635"),
    )
    expect(
        hash_block("sha256_cbor", b"p" * 32, [7, 70_000, 0]),
        bytes.fromhex("ccea5ce114fd73343991fb0757cfc90f5ec029cd135c6873f1cea2f1541232ee"),
    )
    expect(
        hash_block("sha256_cbor", None, list(range(16)), ("myl", ("A", -11), "s")),
        bytes.fromhex("9eb97d4f930dc8fdc5dfade235b8d2a5cfedf2bc7ef4f7e79c03fabba0dd9154"),
    )


@check(points=2, rule=SEED, needs=("test_cbor_is_canonical",))
def test_first_parent(lesson: Any) -> None:
    """The first block's parent comes from PYTHONHASHSEED, or else from a fixed text."""

    def expect_digest(hash_name: str, env: dict[str, str], digest: str) -> None:
        expect(
            lesson.none_hash(hash_name, env),
            bytes.fromhex(digest),
            "An empty variable is set, too.",
        )

    default = "066b1e8987e027138e98701c46128929378935f9b6cd1549105ae6b4f0d71198"
    zero = "1973e23848344dc43a988a9b478663803cfffe1243480253f9a3cf004b14aa7c"
    empty = "3279c4b947f331d055c47442171c9ea17712596bd7fe094c31d4a5d432b42d68"
    expect_digest("sha256", {}, default)
    expect_digest("sha256", {"HOME": "/"}, default)
    expect_digest("sha256", {"PYTHONHASHSEED": "0", "HOME": "/"}, zero)
    expect_digest("sha256", {"PYTHONHASHSEED": ""}, empty)
    default = "9bd96a485ad84efdafb72ee48a1d7a69bcead0f8f0433173941b276b9581eef0"
    zero = "4e1195df020de59e0d65a33a4279f1183e7ae4e5d980e309f8b55adff2e61c3e"
    expect_digest("sha256_cbor", {}, default)
    expect_digest("sha256_cbor", {"PYTHONHASHSEED": "0"}, zero)


@check(points=1, rule=FULL)
@given(st.integers(1, 5), st.lists(TOKENS, max_size=12), st.lists(TOKENS, max_size=6))
def test_only_full_blocks_are_hashed(
    lesson: Any, hash_block_size: Any, prompt: Any, output: Any
) -> None:
    """There is one hash for each full block, and none for the rest."""
    hashes = lesson.RequestHashes("sha256", hash_block_size, prompt)
    expect(len(hashes.block_hashes), len(prompt) // hash_block_size)
    hashes.append(output)
    expect(len(hashes.block_hashes), (len(prompt) + len(output)) // hash_block_size)


@check(points=2, rule=CHAIN, needs=("test_only_full_blocks_are_hashed",))
@given(HASH_NAMES, st.integers(1, 3), st.integers(1, 4), st.data())
def test_token_changes_its_block_and_all_later(
    lesson: Any, hash_name: Any, size: Any, num_blocks: Any, data: Any
) -> None:
    """A changed token changes the hash of its block and of all later ones, none before."""
    tokens = data.draw(st.lists(TOKENS, min_size=size * num_blocks, max_size=size * num_blocks))
    position = data.draw(st.integers(0, len(tokens) - 1), label="changed token")
    changed = [*tokens]
    changed[position] += 1
    before = lesson.RequestHashes(hash_name, size, tokens).block_hashes
    after = lesson.RequestHashes(hash_name, size, changed).block_hashes
    expect(len(before), num_blocks)
    for i in range(num_blocks):
        same = i < position // size
        require(
            (before[i] == after[i]) == same,
            f"The prompts differ in token {position}, so the hashes of block {i} of {size} "
            f"tokens must be {'equal' if same else 'different'}.",
        )


@check(points=2, rule=FULL, needs=("test_only_full_blocks_are_hashed",))
@given(st.integers(1, 4), st.lists(st.lists(TOKENS, max_size=6), min_size=1, max_size=5))
def test_it_does_not_matter_how_tokens_come(lesson: Any, hash_block_size: Any, pieces: Any) -> None:
    """Tokens that come bit by bit give the hashes that they give at once."""
    whole = [token for piece in pieces for token in piece]
    at_once = lesson.RequestHashes("sha256", hash_block_size, whole, [], "a lora", "salt")
    grown = lesson.RequestHashes("sha256", hash_block_size, pieces[0], [], "a lora", "salt")
    for piece in pieces[1:]:
        grown.append(piece)
    expect(grown.block_hashes, at_once.block_hashes)


@check(points=1, rule=FULL, needs=("test_it_does_not_matter_how_tokens_come",))
def test_block_is_hashed_once(lesson: Any) -> None:
    """Completing a block takes the same time behind a long text as behind a short one."""
    short, long = 40, 12_000

    def seconds(length: int) -> float:
        hashes = lesson.RequestHashes("sha256", 4, list(range(length)))
        return quickest(hashes.append, [[1, 2, 3, 4]] * 20)

    require(
        seconds(long) < 8 * seconds(short) + 0.0005,
        f"4 tokens behind {long:,} others take many times as long as behind {short}: blocks that "
        "have their hash are hashed again.",
    )


@check(points=1, rule=EXTRA)
@given(st.sampled_from([None, "s", "pepper"]), st.sampled_from([None, "myl"]))
def test_salt_stands_in_the_first_block_alone(lesson: Any, salt: Any, lora_name: Any) -> None:
    """The salt is a key of the first block alone; an empty salt is no key."""
    lora = (lora_name,) if lora_name else ()
    first = (*lora, salt) if salt else lora
    keys = lesson.generate_block_hash_extra_keys
    expect(keys([], lora_name, salt, 0, 16), first or None)
    expect(keys([], lora_name, "", 0, 16), lora or None, "An empty salt is no salt.")
    expect(keys([], lora_name, salt, 16, 32), lora or None, "A later block.")
    expect(keys([], lora_name, salt, 4, 8), lora or None, "A later block.")


@check(points=2, rule=EXTRA, needs=("test_salt_stands_in_the_first_block_alone",))
@given(
    st.lists(st.tuples(st.sampled_from("ABC"), st.integers(0, 5), st.integers(1, 9)), max_size=3),
    st.integers(0, 4),
    st.integers(1, 6),
)
def test_every_item_that_overlaps_is_a_key(lesson: Any, items: Any, index: Any, size: Any) -> None:
    """Each multimodal item with a token in the block is a key, with its place in the block."""
    mm_features, end_of_last = [], 0
    for identifier, gap, length in items:
        mm_features.append((identifier, end_of_last + gap, length))
        end_of_last += gap + length
    start = index * size
    keys: list[object] = ["myl"]
    for identifier, offset, length in mm_features:
        if set(range(offset, offset + length)) & set(range(start, start + size)):
            keys.append((identifier, offset - start))
    if start == 0:
        keys.append("s")
    expect(
        lesson.generate_block_hash_extra_keys(mm_features, "myl", "s", start, start + size),
        tuple(keys),
        "LoRA, each item with a token in the block, its place from the block's start, the salt.",
    )


@check(
    points=1,
    rule=EXTRA,
    needs=("test_only_full_blocks_are_hashed", "test_every_item_that_overlaps_is_a_key"),
)
def test_what_differs_is_never_shared(lesson: Any) -> None:
    """Another salt, another LoRA, another image or another place of it: another hash."""
    tokens = [7] * 12

    def hashes(*what: object) -> list[bytes]:
        return list(lesson.RequestHashes("sha256_cbor", 4, tokens, *what).block_hashes)

    plain = hashes()
    expect(hashes([], None, ""), plain, "An empty salt changes nothing.")
    for name, different in (
        ("A salt", hashes([], None, "s")),
        ("Another salt", hashes([], None, "t")),
        ("A LoRA", hashes([], "myl")),
        ("Another LoRA", hashes([], "other")),
    ):
        for i, block_hash in enumerate(different):
            require(block_hash != plain[i], f"{name} must change the hash of block {i}.")
    require(hashes([], None, "s")[2] != hashes([], None, "t")[2], "Two salts share block 2.")
    require(hashes([], "myl")[2] != hashes([], "other")[2], "Two LoRAs share block 2.")
    a, b, moved = hashes([("A", 5, 2)]), hashes([("B", 5, 2)]), hashes([("A", 4, 2)])
    expect([a[0], b[0], moved[0]], [plain[0]] * 3, "No image reaches into block 0.")
    for i in (1, 2):
        require(a[i] != b[i], f"Images A and B at the same place share the hash of block {i}.")
        require(a[i] != moved[i], f"Image A, moved by one token, shares the hash of block {i}.")


@check(
    points=1,
    rule="How it really works",
    needs=(
        "test_cbor_is_canonical",
        "test_first_parent",
        "test_it_does_not_matter_how_tokens_come",
        "test_every_item_that_overlaps_is_a_key",
    ),
)
@given(
    st.integers(1, 4),
    st.lists(TOKENS, min_size=1, max_size=16),
    st.lists(st.tuples(st.sampled_from("AB"), st.integers(0, 3), st.integers(1, 5)), max_size=3),
    st.sampled_from([None, "myl"]),
    st.sampled_from([None, "", "s"]),
    st.lists(TOKENS, max_size=5),
)
def test_hashes_are_the_engines(
    lesson: Any, size: Any, prompt: Any, items: Any, lora_name: Any, salt: Any, output: Any
) -> None:
    """A request's hashes are the engine's, whatever comes together in it."""
    mm_features, end_of_last = [], 0
    for identifier, gap, length in items:
        if end_of_last + gap + length <= len(prompt) // size * size:
            mm_features.append((identifier, end_of_last + gap, length))
            end_of_last += gap + length
    arguments = ("sha256_cbor", size, prompt, mm_features, lora_name, salt)
    story(f"Items {mm_features}, LoRA {lora_name!r}, salt {salt!r}.")
    hashes = compare(lesson.RequestHashes(*arguments), RequestHashes(*arguments))
    expect(hashes.theirs.block_hashes, hashes.reference.block_hashes, "Those of the prompt.")
    for token in output:
        hashes.append([token])
    expect(hashes.theirs.block_hashes, hashes.reference.block_hashes)


@check(points=1, rule=SIZES)
@given(st.integers(1, 4), st.integers(0, 13))
def test_view_takes_the_last_of_each(lesson: Any, scale: Any, num_hashes: Any) -> None:
    """The hash of a large block is that of the last small block in it."""
    block_hashes = [bytes([i]) for i in range(num_hashes)]
    expect(
        lesson.view(block_hashes, scale),
        [block_hashes[(i + 1) * scale - 1] for i in range(num_hashes // scale)],
        "A large block that is not full has no hash.",
    )


@check(points=1, rule=SIZES)
@given(st.lists(st.sampled_from([4, 6, 8, 16, 24, 32, 48]), min_size=2, max_size=4))
def test_sizes_fit_every_group(lesson: Any, sizes: Any) -> None:
    """The scheduler's block size is the LCM of the groups', the hash's the GCD."""
    expect(lesson.resolve_block_sizes(sizes), (lcm(*sizes), gcd(*sizes)))
    expect(lesson.resolve_block_sizes(sizes, 2), (lcm(*sizes), 2), "The user wants 2.")
    expect(lesson.resolve_block_sizes(sizes[:1]), (sizes[0], sizes[0]), "One group.")


@check(points=1, rule=SIZES, needs=("test_sizes_fit_every_group",))
def test_unit_must_divide_every_group(lesson: Any) -> None:
    """A unit that does not divide each group's block size is a ValueError."""
    for sizes, unit in (([16, 24], 16), ([24, 16], 16), ([16, 32], 32), ([16, 32], 5)):
        expect_error(partial(lesson.resolve_block_sizes, sizes, unit), "ValueError")
    expect(lesson.resolve_block_sizes([16, 32], 16), (32, 16))
    expect(lesson.resolve_block_sizes([16], 5), (16, 16), "With one group it is not looked at.")


@check(points=1, rule=GROUPS)
@given(st.binary(min_size=16, max_size=32), st.integers(0, 2**32 - 1))
def test_key_holds_hash_and_group(lesson: Any, block_hash: Any, group_id: Any) -> None:
    """A key is the hash and the group's id in 4 bytes, and gives both back."""
    key = lesson.make_block_hash_with_group_id(block_hash, group_id)
    expect(key, block_hash + group_id.to_bytes(4, "big"))
    expect(lesson.get_block_hash(key), block_hash)
    expect(lesson.get_group_id(key), group_id)


TENANTS = {
    "engine": {"block_size": 4, "num_gpu_blocks": 24, "max_model_len": 48},
    "prefixes": {"same": {"length": 10, "seed": 7}},
    "requests": [
        {"id": "a", "prompt": {"prefix": "same", "length": 3, "seed": 1}, "max_tokens": 6},
        {"id": "b", "prompt": {"prefix": "same", "length": 4, "seed": 2}, "max_tokens": 3},
        {
            "id": "salted",
            "prompt": {"prefix": "same", "length": 3, "seed": 1},
            "max_tokens": 2,
            "arrival": 2,
            "cache_salt": "tenant 2",
        },
        {
            "id": "with a lora",
            "prompt": {"prefix": "same", "length": 3, "seed": 1},
            "max_tokens": 2,
            "arrival": 2,
            "lora_name": "myl",
        },
        {
            "id": "salted again",
            "prompt": {"prefix": "same", "length": 5, "seed": 3},
            "max_tokens": 2,
            "arrival": 5,
            "cache_salt": "tenant 2",
        },
        {
            "id": "a again",
            "prompt": {"prefix": "same", "length": 3, "seed": 1},
            "max_tokens": 8,
            "arrival": 8,
        },
    ],
}


@check(points=1, rule="How it really works", needs=("test_hashes_are_the_engines",))
def test_engine_finds_by_it(lesson: Any) -> None:
    """The whole engine finds the same blocks by these hashes as by its own."""
    story("Six requests with the same 10 tokens; two have a salt, one a LoRA.")
    workload = parse_workload(TENANTS, "tenants")
    theirs = run_workload(workload, install(Parts(), lesson))
    own = run_workload(workload)
    for mine, engines in zip(theirs.steps, own.steps, strict=False):
        expect(mine.to_dict(), engines.to_dict(), f"Step {engines.step} of the engine.")
    expect(theirs.outputs, own.outputs, "The tokens that the requests got.")
