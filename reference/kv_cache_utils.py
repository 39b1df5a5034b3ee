"""The list of free blocks, and the hashes by which full blocks are found again."""

import math
from collections.abc import Iterable, Mapping, Sequence

from reference.hashing import HASH_FUNCTIONS, HashFunction

# A multimodal item in a prompt: identifier, offset and length of its placeholder tokens.
MultiModalItem = tuple[str, int, int]
ExtraKeys = tuple[object, ...] | None

DEFAULT_NONE_HASH_SEED = "vllm-none-hash"
UNLINKED = -1


class FreeKVCacheBlockQueue:
    """Free blocks in the order in which they will be handed out.

    A doubly linked list in two arrays indexed by block id, so that a block in the middle can be
    taken out in constant time and no object is made for a link.

    >>> queue = FreeKVCacheBlockQueue([1, 2, 3, 4])
    >>> queue.popleft(), queue.remove(3), queue.append(1), queue.get_all_free_blocks()
    (1, None, None, [2, 4, 1])
    """

    __slots__ = ("_end", "_next", "_previous", "num_free_blocks")

    def __init__(self, block_ids: Iterable[int]) -> None:
        ids = list(block_ids)
        # One sentinel closes the ring: what follows it is the head, what precedes it the tail.
        self._end = max(ids, default=-1) + 1
        self._next = [UNLINKED] * (self._end + 1)
        self._previous = [UNLINKED] * (self._end + 1)
        self._next[self._end] = self._previous[self._end] = self._end
        self.num_free_blocks = 0
        self.append_n(ids)

    def popleft(self) -> int:
        """Takes the first block. Raises ValueError when none is free."""
        return self.popleft_n(1)[0]

    def popleft_n(self, n: int) -> list[int]:
        """Takes the first ``n`` blocks. Raises ValueError when fewer are free."""
        if n > self.num_free_blocks:
            raise ValueError(f"cannot take {n} blocks: {self.num_free_blocks} are free")
        following, previous, end = self._next, self._previous, self._end
        taken = []
        block = following[end]
        for _ in range(n):
            taken.append(block)
            after = following[block]
            following[block] = previous[block] = UNLINKED
            block = after
        following[end] = block
        previous[block] = end
        self.num_free_blocks -= n
        return taken

    def remove(self, block_id: int) -> None:
        """Takes a block out, wherever it is. Raises RuntimeError when it is not in the list."""
        if not 0 <= block_id < self._end or self._next[block_id] == UNLINKED:
            raise RuntimeError(f"cannot remove block {block_id}: it is not free")
        before, after = self._previous[block_id], self._next[block_id]
        self._next[before] = after
        self._previous[after] = before
        self._next[block_id] = self._previous[block_id] = UNLINKED
        self.num_free_blocks -= 1

    def append(self, block_id: int) -> None:
        """Puts a block at the tail."""
        self.append_n([block_id])

    def append_n(self, block_ids: Sequence[int]) -> None:
        """Puts blocks at the tail, in their order."""
        self._insert(self._previous[self._end], block_ids)

    def prepend_n(self, block_ids: Sequence[int]) -> None:
        """Puts blocks at the head, in their order: the first one will be taken next."""
        self._insert(self._end, block_ids)

    def get_all_free_blocks(self) -> list[int]:
        """The whole list, in order."""
        blocks = []
        block = self._next[self._end]
        while block != self._end:
            blocks.append(block)
            block = self._next[block]
        return blocks

    def _insert(self, before: int, block_ids: Sequence[int]) -> None:
        following, previous = self._next, self._previous
        after = following[before]
        for block in block_ids:
            following[before] = block
            previous[block] = before
            before = block
        following[before] = after
        previous[after] = before
        self.num_free_blocks += len(block_ids)


def none_hash(hash_name: str, env: Mapping[str, str]) -> bytes:
    """What stands in for the parent of a first block.

    ``PYTHONHASHSEED``, even an empty one, is its seed; without it a fixed text is, so that hashes
    agree between processes.

    >>> none_hash("sha256", {"PYTHONHASHSEED": "0"}).hex()[:8]
    '1973e238'
    """
    return HASH_FUNCTIONS[hash_name](env.get("PYTHONHASHSEED", DEFAULT_NONE_HASH_SEED))


NONE_HASHES = {name: none_hash(name, {}) for name in HASH_FUNCTIONS}


def hash_block_tokens(
    hash_name: str, parent: bytes | None, tokens: Sequence[int], extra_keys: ExtraKeys = None
) -> bytes:
    """Hash of one full block: its parent's hash, its tokens, and what else its content rests on.

    >>> first = hash_block_tokens("sha256", None, [1, 2])
    >>> first == hash_block_tokens("sha256", None, [1, 2], ("a lora",))
    False
    """
    parent = parent or NONE_HASHES[hash_name]
    return HASH_FUNCTIONS[hash_name]((parent, tuple(tokens), extra_keys))


def generate_block_hash_extra_keys(
    mm_features: Sequence[MultiModalItem],
    lora_name: str | None,
    cache_salt: str | None,
    start: int,
    end: int,
) -> ExtraKeys:
    """What the block of tokens ``start`` to ``end`` rests on besides tokens; None for nothing.

    In order: the LoRA's name, each overlapping multimodal item with its offset from the block's
    start (negative when it began before), and in the first block the salt.

    >>> generate_block_hash_extra_keys([("A", 5, 20)], "myl", "s", 16, 32)
    ('myl', ('A', -11))
    """
    keys: list[object] = [lora_name] if lora_name else []
    for identifier, offset, length in mm_features:
        if offset < end and start < offset + length:
            keys.append((identifier, offset - start))
    if cache_salt and start == 0:
        keys.append(cache_salt)
    return tuple(keys) or None


class RequestHashes:
    """The hashes of one request's full blocks, grown as its tokens come.

    >>> hashes = RequestHashes("sha256", 2, [1, 2, 3])
    >>> len(hashes.block_hashes), hashes.append([4, 5]), len(hashes.block_hashes)
    (1, None, 2)
    """

    __slots__ = (
        *("_cache_salt", "_hash_name", "_lora_name", "_mm_features", "_tail"),
        *("block_hashes", "hash_block_size"),
    )

    def __init__(
        self,
        hash_name: str,
        hash_block_size: int,
        prompt_token_ids: Sequence[int],
        mm_features: Sequence[MultiModalItem] = (),
        lora_name: str | None = None,
        cache_salt: str | None = None,
    ) -> None:
        self.hash_block_size = hash_block_size
        self.block_hashes: list[bytes] = []
        self._hash_name = hash_name
        self._mm_features = tuple(mm_features)
        self._lora_name = lora_name
        self._cache_salt = cache_salt
        self._tail: list[int] = []
        self.append(prompt_token_ids)

    def append(self, token_ids: Sequence[int]) -> None:
        """Adds tokens and hashes the blocks that they complete."""
        tail, size = self._tail, self.hash_block_size
        tail.extend(token_ids)
        # A block that output completes can overlap the last item of a prompt, hardly others; the
        # engine looks at that one alone.
        items = self._mm_features[-1:] if self.block_hashes else self._mm_features
        num_full_tokens = len(tail) - len(tail) % size
        for begin in range(0, num_full_tokens, size):
            self._hash_block(tail[begin : begin + size], items)
        del tail[:num_full_tokens]

    def _hash_block(self, tokens: Sequence[int], items: Sequence[MultiModalItem]) -> None:
        hashes = self.block_hashes
        start = len(hashes) * self.hash_block_size
        extra_keys = None
        if items or self._lora_name or self._cache_salt:
            extra_keys = generate_block_hash_extra_keys(
                items, self._lora_name, self._cache_salt, start, start + self.hash_block_size
            )
        parent = hashes[-1] if hashes else None
        hashes.append(hash_block_tokens(self._hash_name, parent, tokens, extra_keys))


def view(block_hashes: Sequence[bytes], scale: int) -> list[bytes]:
    """Hashes for blocks that are ``scale`` times as large.

    Each hash covers all tokens before it, so every ``scale``-th one serves.

    >>> view([b"a", b"b", b"c", b"d", b"e"], 2)
    [b'b', b'd']
    """
    return list(block_hashes[scale - 1 :: scale])


def resolve_block_sizes(
    group_block_sizes: Sequence[int], prefix_match_unit: int | None = None
) -> tuple[int, int]:
    """Block sizes, in tokens, by which the scheduler counts and by which hashes are made.

    Raises:
        ValueError: ``prefix_match_unit`` does not divide every group's block size.

    >>> resolve_block_sizes([16, 24])
    (48, 8)
    """
    if len(group_block_sizes) == 1:
        return group_block_sizes[0], group_block_sizes[0]
    unit = math.gcd(*group_block_sizes) if prefix_match_unit is None else prefix_match_unit
    if any(size % unit for size in group_block_sizes):
        raise ValueError(f"prefix_match_unit {unit} must divide each of {group_block_sizes}")
    return math.lcm(*group_block_sizes), unit


def make_block_hash_with_group_id(block_hash: bytes, group_id: int) -> bytes:
    """The key of a block of one group: the hash and the group's id as four bytes.

    >>> make_block_hash_with_group_id(b"h", 3)
    b'h\\x00\\x00\\x00\\x03'
    """
    return block_hash + group_id.to_bytes(4, "big")


def get_block_hash(key: bytes) -> bytes:
    """The hash in a key."""
    return key[:-4]


def get_group_id(key: bytes) -> int:
    """The group's id in a key."""
    return int.from_bytes(key[-4:], "big")


__all__ = [
    "HASH_FUNCTIONS",
    "FreeKVCacheBlockQueue",
    "HashFunction",
    "RequestHashes",
    "generate_block_hash_extra_keys",
    "get_block_hash",
    "get_group_id",
    "hash_block_tokens",
    "make_block_hash_with_group_id",
    "none_hash",
    "resolve_block_sizes",
    "view",
]
