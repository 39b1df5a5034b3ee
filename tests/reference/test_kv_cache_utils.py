"""The list of free blocks and the hashes of full ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.hashing import cbor_dumps
from reference.kv_cache_utils import (
    FreeKVCacheBlockQueue,
    RequestHashes,
    generate_block_hash_extra_keys,
    get_block_hash,
    get_group_id,
    hash_block_tokens,
    make_block_hash_with_group_id,
    none_hash,
    resolve_block_sizes,
    view,
)

TOKENS = st.lists(st.integers(0, 5), max_size=30)


@given(st.lists(st.tuples(st.sampled_from(["popleft", "remove", "append", "prepend"]), st.data())))
def test_the_queue_behaves_as_a_list(operations: list[tuple[str, st.DataObject]]) -> None:
    queue = FreeKVCacheBlockQueue([3, 1, 4, 0])
    model, taken = [3, 1, 4, 0], []
    for operation, data in operations:
        if operation == "popleft" and model:
            count = data.draw(st.integers(0, len(model)))
            assert queue.popleft_n(count) == model[:count]
            taken += model[:count]
            del model[:count]
        elif operation == "remove" and model:
            block = data.draw(st.sampled_from(model))
            queue.remove(block)
            model.remove(block)
            taken.append(block)
        elif operation in ("append", "prepend"):
            blocks = data.draw(st.lists(st.sampled_from(taken), unique=True)) if taken else []
            taken = [block for block in taken if block not in blocks]
            if operation == "append":
                queue.append_n(blocks)
                model += blocks
            else:
                queue.prepend_n(blocks)
                model = blocks + model
        assert queue.get_all_free_blocks() == model
        assert queue.num_free_blocks == len(model)


def test_an_empty_queue_gives_nothing() -> None:
    with pytest.raises(ValueError, match="0 are free"):
        FreeKVCacheBlockQueue([]).popleft()


@pytest.mark.parametrize("block", [1, 7, -1])
def test_a_block_that_is_not_free_cannot_be_removed(block: int) -> None:
    queue = FreeKVCacheBlockQueue([1, 2])
    queue.popleft()
    with pytest.raises(RuntimeError, match=f"block {block}"):
        queue.remove(block)


def test_the_root_of_all_hashes_rests_on_the_hash_seed() -> None:
    assert none_hash("sha256", {}).hex().startswith("066b1e89")
    assert none_hash("sha256", {"PYTHONHASHSEED": "0"}).hex().startswith("1973e238")
    assert none_hash("sha256", {"PYTHONHASHSEED": ""}) != none_hash("sha256", {})


@given(TOKENS, st.integers(1, 6))
def test_only_full_blocks_are_hashed(tokens: list[int], size: int) -> None:
    assert len(RequestHashes("sha256", size, tokens).block_hashes) == len(tokens) // size


@given(TOKENS, st.lists(TOKENS), st.integers(1, 6))
def test_hashes_do_not_depend_on_how_tokens_came(
    prompt: list[int], pieces: list[list[int]], size: int
) -> None:
    hashes = RequestHashes("sha256", size, prompt)
    for piece in pieces:
        hashes.append(piece)
    whole = prompt + [token for piece in pieces for token in piece]
    assert hashes.block_hashes == RequestHashes("sha256", size, whole).block_hashes


@given(TOKENS, TOKENS, st.integers(1, 4))
def test_hashes_agree_exactly_as_far_as_prefixes_do(a: list[int], b: list[int], size: int) -> None:
    pairs = zip(
        RequestHashes("sha256", size, a).block_hashes,
        RequestHashes("sha256", size, b).block_hashes,
        strict=False,
    )
    for index, (one, other) in enumerate(pairs):
        end = (index + 1) * size
        assert (one == other) == (a[:end] == b[:end])


def test_extra_keys_come_in_order_and_tell_offsets_from_the_block() -> None:
    def keys(start: int) -> object:
        return generate_block_hash_extra_keys([("A", 5, 20)], "myl", "s", start, start + 16)

    assert keys(0) == ("myl", ("A", 5), "s")
    assert keys(16) == ("myl", ("A", -11))
    assert keys(32) == ("myl",)


def test_nothing_extra_is_none() -> None:
    assert generate_block_hash_extra_keys([], None, "", 0, 16) is None


def test_output_looks_at_the_last_item_of_a_prompt_alone() -> None:
    items = [("A", 4, 1), ("B", 5, 1)]
    grown = RequestHashes("sha256_cbor", 4, [0] * 6, items)
    grown.append([0, 0])
    first = grown.block_hashes[0]
    expected = hash_block_tokens("sha256_cbor", first, [0] * 4, (("B", 1),))
    assert grown.block_hashes[1] == expected


def test_a_coarser_view_takes_the_last_hash_of_each_group() -> None:
    hashes = [bytes([i]) for i in range(7)]
    assert view(hashes, 3) == [hashes[2], hashes[5]]
    assert view(hashes, 1) == hashes


def test_one_group_counts_and_hashes_by_its_own_block_size() -> None:
    assert resolve_block_sizes([16]) == (16, 16)


def test_groups_count_by_the_common_multiple_and_hash_by_the_common_divisor() -> None:
    assert resolve_block_sizes([16, 24, 32]) == (96, 8)
    assert resolve_block_sizes([16, 24], prefix_match_unit=4) == (48, 4)
    with pytest.raises(ValueError, match="prefix_match_unit 5"):
        resolve_block_sizes([16, 24], prefix_match_unit=5)


@given(st.binary(min_size=1), st.integers(0, 2**32 - 1))
def test_a_key_can_be_taken_apart(block_hash: bytes, group_id: int) -> None:
    key = make_block_hash_with_group_id(block_hash, group_id)
    assert (get_block_hash(key), get_group_id(key)) == (block_hash, group_id)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, "00"),
        (23, "17"),
        (24, "1818"),
        (1000, "1903e8"),
        (1_000_000, "1a000f4240"),
        (1_000_000_000_000, "1b000000e8d4a51000"),
        (18446744073709551616, "c249010000000000000000"),
        (-1, "20"),
        (-1000, "3903e7"),
        (-18446744073709551617, "c349010000000000000000"),
        (None, "f6"),
        (True, "f5"),
        ("ü", "62c3bc"),
        (b"\x01", "4101"),
        ((1, (2, 3)), "8201820203"),
    ],
)
def test_cbor_is_that_of_rfc_8949(value: object, encoded: str) -> None:
    assert cbor_dumps(value).hex() == encoded


def test_cbor_of_anything_else_is_refused() -> None:
    with pytest.raises(TypeError, match="float"):
        cbor_dumps(1.5)
