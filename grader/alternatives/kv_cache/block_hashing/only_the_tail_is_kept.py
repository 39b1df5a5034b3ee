"""A request keeps its unhashed tokens alone; CBOR is written with ``match`` and ``struct``."""

import hashlib
import math
import pickle
import struct
from collections.abc import Callable, Mapping, Sequence


def cbor_dumps(value: object) -> bytes:
    match value:
        case None:
            return bytes([0xF6])
        case int() if value < 0:
            return _head(1, ~value)
        case int():
            return _head(0, value)
        case bytes():
            return _head(2, len(value)) + value
        case str():
            return _head(3, len(value.encode())) + value.encode()
        case tuple():
            return b"".join([_head(4, len(value)), *map(cbor_dumps, value)])
    raise TypeError(type(value).__name__)


def _head(kind: int, number: int) -> bytes:
    if number < 24:
        return bytes([kind * 32 + number])
    width = max(0, math.ceil(math.log2(math.ceil(number.bit_length() / 8))))
    return bytes([kind * 32 + 24 + width]) + struct.pack(">" + "BHIQ"[width], number)


def sha256(value: object) -> bytes:
    return hashlib.sha256(pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)).digest()


def sha256_cbor(value: object) -> bytes:
    return hashlib.sha256(cbor_dumps(value)).digest()


HASH_FUNCTIONS: dict[str, Callable[[object], bytes]] = {
    "sha256": sha256,
    "sha256_cbor": sha256_cbor,
}


def none_hash(hash_name: str, env: Mapping[str, str]) -> bytes:
    return HASH_FUNCTIONS[hash_name]({"PYTHONHASHSEED": "vllm-none-hash", **env}["PYTHONHASHSEED"])


def hash_block_tokens(
    hash_name: str,
    parent: bytes | None,
    tokens: Sequence[int],
    extra_keys: tuple[object, ...] | None = None,
) -> bytes:
    if not parent:
        parent = none_hash(hash_name, {})
    return HASH_FUNCTIONS[hash_name]((parent, (*tokens,), extra_keys))


def generate_block_hash_extra_keys(
    mm_features: Sequence[tuple[str, int, int]],
    lora_name: str | None,
    cache_salt: str | None,
    start: int,
    end: int,
) -> tuple[object, ...] | None:
    block = range(start, end)
    lora = (lora_name,) if lora_name else ()
    items = tuple(
        (identifier, offset - start)
        for identifier, offset, length in mm_features
        if any(position in block for position in range(offset, offset + length))
    )
    salt = (cache_salt,) if cache_salt and 0 in block else ()
    return lora + items + salt or None


class RequestHashes:
    def __init__(
        self,
        hash_name: str,
        hash_block_size: int,
        prompt_token_ids: Sequence[int],
        mm_features: Sequence[tuple[str, int, int]] = (),
        lora_name: str | None = None,
        cache_salt: str | None = None,
    ) -> None:
        self.hash_block_size = hash_block_size
        self.block_hashes: list[bytes] = []
        self._hash_name = hash_name
        self._others = (mm_features, lora_name, cache_salt)
        self._tail: list[int] = []
        self.append(prompt_token_ids)

    def append(self, token_ids: Sequence[int]) -> None:
        for token in token_ids:
            self._tail.append(token)
            if len(self._tail) == self.hash_block_size:
                self._close_block()

    def _close_block(self) -> None:
        start = len(self.block_hashes) * self.hash_block_size
        keys = generate_block_hash_extra_keys(*self._others, start, start + self.hash_block_size)
        parent = self.block_hashes[-1] if self.block_hashes else b""
        self.block_hashes.append(hash_block_tokens(self._hash_name, parent, self._tail, keys))
        self._tail = []


def view(block_hashes: Sequence[bytes], scale: int) -> list[bytes]:
    return [block_hashes[i] for i in range(len(block_hashes)) if (i + 1) % scale == 0]


def resolve_block_sizes(
    group_block_sizes: Sequence[int], prefix_match_unit: int | None = None
) -> tuple[int, int]:
    if len(group_block_sizes) == 1:
        return (group_block_sizes[0],) * 2
    unit = prefix_match_unit or math.gcd(*group_block_sizes)
    if math.gcd(unit, *group_block_sizes) != unit:
        raise ValueError("the unit does not fit into each group's block")
    return math.lcm(*group_block_sizes), unit


def make_block_hash_with_group_id(block_hash: bytes, group_id: int) -> bytes:
    return block_hash + struct.pack(">I", group_id)


def get_block_hash(key: bytes) -> bytes:
    return key[: len(key) - 4]


def get_group_id(key: bytes) -> int:
    return int(struct.unpack(">I", key[-4:])[0])
