"""The chain is an ``accumulate`` over new blocks; sizes and keys are found by counting."""

import hashlib
import pickle
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, count

FUNCTIONS = ("sha256", "sha256_cbor")


def cbor_dumps(value: object) -> bytes:
    return b"".join(_pieces(value))


def _pieces(value: object) -> Iterator[bytes]:
    if value is None:
        yield b"\xf6"
    elif isinstance(value, int):
        yield _head(int(value < 0), value if value >= 0 else -(value + 1))
    elif isinstance(value, tuple):
        yield _head(4, len(value))
        for item in value:
            yield from _pieces(item)
    else:
        content = value.encode("utf-8") if isinstance(value, str) else value
        assert isinstance(content, bytes)
        yield _head(3 if isinstance(value, str) else 2, len(content))
        yield content


def _head(kind: int, number: int) -> bytes:
    if number <= 23:
        return (kind << 5 | number).to_bytes(1, "big")
    size = 1
    while number >> 8 * size:
        size *= 2
    return (kind << 5 | 23 + size.bit_length()).to_bytes(1, "big") + number.to_bytes(size, "big")


def sha256(value: object) -> bytes:
    return _digest("sha256", value)


def sha256_cbor(value: object) -> bytes:
    return _digest("sha256_cbor", value)


def _digest(hash_name: str, value: object) -> bytes:
    if hash_name not in FUNCTIONS:
        raise ValueError(hash_name)
    written = cbor_dumps(value) if hash_name.endswith("cbor") else pickle.dumps(value, protocol=5)
    return hashlib.sha256(written).digest()


def none_hash(hash_name: str, env: Mapping[str, str]) -> bytes:
    seed = env.get("PYTHONHASHSEED")
    return _digest(hash_name, "vllm-none-hash" if seed is None else seed)


def hash_block_tokens(
    hash_name: str,
    parent: bytes | None,
    tokens: Sequence[int],
    extra_keys: tuple[object, ...] | None = None,
) -> bytes:
    first = parent is None or len(parent) == 0
    start = none_hash(hash_name, {}) if first else parent
    return _digest(hash_name, (start, tuple(tokens), extra_keys))


def generate_block_hash_extra_keys(
    mm_features: Sequence[tuple[str, int, int]],
    lora_name: str | None,
    cache_salt: str | None,
    start: int,
    end: int,
) -> tuple[object, ...] | None:
    keys: tuple[object, ...] = ()
    if lora_name:
        keys += (lora_name,)
    for identifier, offset, length in mm_features:
        shared_tokens = min(end, offset + length) - max(start, offset)
        if shared_tokens > 0:
            keys += ((identifier, offset - start),)
    if not start and cache_salt:
        keys += (cache_salt,)
    return keys if keys else None


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
        self._hash_name = hash_name
        self._not_tokens = (mm_features, lora_name, cache_salt)
        self._tokens = list(prompt_token_ids)
        self._hashes: list[bytes] = []
        self._grow()

    @property
    def block_hashes(self) -> list[bytes]:
        return self._hashes

    def append(self, token_ids: Sequence[int]) -> None:
        self._tokens += token_ids
        self._grow()

    def _grow(self) -> None:
        size = self.hash_block_size
        first, last = len(self._hashes), len(self._tokens) // size
        parent = self._hashes[-1] if self._hashes else b""
        starts = [i * size for i in range(first, last)]
        self._hashes += list(accumulate(starts, self._link, initial=parent))[1:]

    def _link(self, parent: bytes, start: int) -> bytes:
        end = start + self.hash_block_size
        keys = generate_block_hash_extra_keys(*self._not_tokens, start, end)
        return hash_block_tokens(self._hash_name, parent, self._tokens[start:end], keys)


def view(block_hashes: Sequence[bytes], scale: int) -> list[bytes]:
    return [block_hashes[(i + 1) * scale - 1] for i in range(len(block_hashes) // scale)]


def resolve_block_sizes(
    group_block_sizes: Sequence[int], prefix_match_unit: int | None = None
) -> tuple[int, int]:
    if not group_block_sizes[1:]:
        return group_block_sizes[0], group_block_sizes[0]

    def fits(unit: int) -> bool:
        return all(size % unit == 0 for size in group_block_sizes)

    if prefix_match_unit is None:
        prefix_match_unit = max(filter(fits, range(1, min(group_block_sizes) + 1)))
    elif not fits(prefix_match_unit):
        raise ValueError(f"{prefix_match_unit} does not divide all of {group_block_sizes}")
    largest = max(group_block_sizes)
    multiple = next(
        n for n in count(largest, largest) if all(n % size == 0 for size in group_block_sizes)
    )
    return multiple, prefix_match_unit


def make_block_hash_with_group_id(block_hash: bytes, group_id: int) -> bytes:
    return block_hash + bytes(group_id >> shift & 255 for shift in (24, 16, 8, 0))


def get_block_hash(key: bytes) -> bytes:
    return key[slice(0, -4)]


def get_group_id(key: bytes) -> int:
    total = 0
    for byte in key[-4:]:
        total = total * 256 + byte
    return total
