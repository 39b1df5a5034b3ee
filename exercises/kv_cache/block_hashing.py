"""Block hashing: the name under which a full block's content is found again.

A hash is bytes: 32 of them for the two hash functions here. A multimodal item is a tuple
``(identifier, offset, length)``: whose features they are, and which tokens of the prompt stand
for them, ``length`` tokens, at least 1, from token ``offset`` on.

Read in vLLM 0.30.0: ``vllm/v1/core/kv_cache_utils.py``, ``vllm/utils/hashing.py``, and
``Request.update_block_hashes`` in ``vllm/v1/request.py``.
"""

import hashlib
import math
import pickle
from collections.abc import Callable, Mapping, Sequence

DEFAULT_NONE_HASH_SEED = "vllm-none-hash"

MultiModalItem = tuple[str, int, int]


def cbor_dumps(value: object) -> bytes:
    """Write a value as bytes that do not depend on the language: canonical CBOR.

    Args:
        value: None, int (from -2**64 up to 2**64 - 1), bytes, str, or a tuple of these, nested
            as deep as you like.

    Raises:
        TypeError: it is, or has in it, anything else (no bool comes).

    >>> cbor_dumps((1, -11, 500)).hex()
    '83012a1901f4'
    >>> cbor_dumps((None, b"ab", "ab")).hex()
    '83f6426162626162'
    """
    raise NotImplementedError("cbor_dumps: a head for each kind of value, then what is in it")


def _cbor_head(kind: int, number: int) -> bytes:
    """Write a kind, from 0 to 7, and a number, from 0 to 2**64 - 1, in as few bytes as it takes."""
    if number < 24:
        return bytes([kind << 5 | number])
    for code, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if number < 1 << 8 * size:
            return bytes([kind << 5 | code]) + number.to_bytes(size, "big")
    raise OverflowError(f"cbor_dumps: {number} takes more than 64 bits")


def sha256(value: object) -> bytes:
    """SHA-256 of the value's pickle."""
    return hashlib.sha256(pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)).digest()


def sha256_cbor(value: object) -> bytes:
    """SHA-256 of the value's CBOR."""
    return hashlib.sha256(cbor_dumps(value)).digest()


HASH_FUNCTIONS: dict[str, Callable[[object], bytes]] = {
    "sha256": sha256,
    "sha256_cbor": sha256_cbor,
}


def none_hash(hash_name: str, env: Mapping[str, str]) -> bytes:
    """Give the hash that stands in for the parent of a first block.

    Args:
        hash_name: a key of ``HASH_FUNCTIONS``.
        env: the process's environment variables.

    >>> none_hash("sha256", {}).hex()[:8]
    '066b1e89'
    >>> none_hash("sha256", {"PYTHONHASHSEED": "0"}).hex()[:8]
    '1973e238'
    """
    raise NotImplementedError(
        "none_hash: hash the seed: PYTHONHASHSEED if it is set, else the fixed text"
    )


def hash_block_tokens(
    hash_name: str,
    parent: bytes | None,
    tokens: Sequence[int],
    extra_keys: tuple[object, ...] | None = None,
) -> bytes:
    """Hash one full block.

    Args:
        hash_name: a key of ``HASH_FUNCTIONS``.
        parent: the hash of the block in front of it; None, or empty, for a first block, whose
            parent is the hash that ``none_hash`` gives for an empty environment.
        tokens: the block's token ids.
        extra_keys: what ``generate_block_hash_extra_keys`` gives for the block.

    >>> first = hash_block_tokens("sha256", None, [1, 2])
    >>> first.hex()[:8], hash_block_tokens("sha256", first, [3, 4]).hex()[:8]
    ('786f9bbd', '15b21605')
    """
    raise NotImplementedError(
        "hash_block_tokens: hash the parent's hash, the tokens as a tuple, and the extra keys"
    )


def generate_block_hash_extra_keys(
    mm_features: Sequence[MultiModalItem],
    lora_name: str | None,
    cache_salt: str | None,
    start: int,
    end: int,
) -> tuple[object, ...] | None:
    """Give what a block's content rests on besides tokens: those from ``start`` up to ``end``.

    Args:
        mm_features: the request's multimodal items, sorted by offset; no two share a token.
        lora_name: the name of the request's LoRA adapter, or None.
        cache_salt: the request's cache salt; None or empty for none.
        start: the position in the request of the block's first token.
        end: the position behind its last token.

    Returns:
        A tuple, or None if there is nothing to put in it.

    >>> generate_block_hash_extra_keys([("A", 5, 20)], "myl", "s", 0, 16)
    ('myl', ('A', 5), 's')
    >>> generate_block_hash_extra_keys([("A", 5, 20)], None, "s", 32, 48) is None
    True
    """
    raise NotImplementedError(
        "generate_block_hash_extra_keys: the LoRA's name, the items that overlap, the salt in the first block"
    )


class RequestHashes:
    """The hashes of a request's full blocks; they grow with its tokens.

    Args:
        hash_name: a key of ``HASH_FUNCTIONS``.
        hash_block_size: how many tokens a hash covers anew; at least 1.
        prompt_token_ids: the request's first tokens; their full blocks are hashed at once.
        mm_features, lora_name, cache_salt: as for ``generate_block_hash_extra_keys``.

    Attributes:
        block_hashes: a list of bytes, one hash for each full block.
        hash_block_size: as it was given; the engine reads it, too.

    >>> hashes = RequestHashes("sha256", 2, [1, 2, 3])
    >>> [block_hash.hex()[:8] for block_hash in hashes.block_hashes]
    ['786f9bbd']
    >>> hashes.append([4, 5])
    >>> [block_hash.hex()[:8] for block_hash in hashes.block_hashes]
    ['786f9bbd', '15b21605']
    """

    def __init__(
        self,
        hash_name: str,
        hash_block_size: int,
        prompt_token_ids: Sequence[int],
        mm_features: Sequence[MultiModalItem] = (),
        lora_name: str | None = None,
        cache_salt: str | None = None,
    ) -> None:
        self.hash_name = hash_name
        self.hash_block_size = hash_block_size
        self.mm_features = mm_features
        self.lora_name = lora_name
        self.cache_salt = cache_salt
        self.token_ids: list[int] = []
        self.block_hashes: list[bytes] = []
        self.append(prompt_token_ids)

    def append(self, token_ids: Sequence[int]) -> None:
        """Add tokens behind the others, and the hash of each block that is full now.

        A block is hashed once: the work depends on the tokens that are new, not on how many
        there were before.
        """
        raise NotImplementedError(
            "RequestHashes.append: go on behind the last hashed block, as long as a whole block is there"
        )


def view(block_hashes: Sequence[bytes], scale: int) -> list[bytes]:
    """Give the hashes of blocks that are ``scale`` times as large as those that were hashed.

    Args:
        block_hashes: one hash for each small block.
        scale: how many small blocks make a large one; at least 1.

    Returns:
        One hash for each large block that is full.

    >>> view([b"A", b"B", b"C", b"D", b"E"], 2)
    [b'B', b'D']
    """
    raise NotImplementedError("view: the hash of the last small block in each large one")


def resolve_block_sizes(
    group_block_sizes: Sequence[int], prefix_match_unit: int | None = None
) -> tuple[int, int]:
    """Choose the two block sizes of an engine whose KV cache groups have blocks of these sizes.

    Args:
        group_block_sizes: the block size of each group, in tokens; at least one group.
        prefix_match_unit: the hash block size that the user wants, at least 1, or None.

    Returns:
        The scheduler's block size and the hash block size, in tokens.

    Raises:
        ValueError: there are several groups, and ``prefix_match_unit`` does not divide the block
            size of each.

    >>> resolve_block_sizes([16, 24]), resolve_block_sizes([16])
    ((48, 8), (16, 16))
    """
    raise NotImplementedError(
        "resolve_block_sizes: one group: its size, twice; several: LCM, and the unit or the GCD"
    )


def make_block_hash_with_group_id(block_hash: bytes, group_id: int) -> bytes:
    """Make the key under which a block of one KV cache group is found.

    >>> make_block_hash_with_group_id(b"hash", 258)
    b'hash\\x00\\x00\\x01\\x02'
    """
    raise NotImplementedError(
        "make_block_hash_with_group_id: append the group's id as 4 bytes, the highest first"
    )


def get_block_hash(key: bytes) -> bytes:
    """Give the hash in such a key.

    >>> get_block_hash(b"hash\\x00\\x00\\x01\\x02")
    b'hash'
    """
    raise NotImplementedError("get_block_hash: all but the last 4 bytes")


def get_group_id(key: bytes) -> int:
    """Give the group's id in such a key.

    >>> get_group_id(b"hash\\x00\\x00\\x01\\x02")
    258
    """
    raise NotImplementedError("get_group_id: the last 4 bytes as a number")
