"""Digests of plain values: what a block hash is made with."""

import hashlib
import pickle
from collections.abc import Callable

HashFunction = Callable[[object], bytes]


def sha256(value: object) -> bytes:
    """SHA-256 of the value's pickle, 32 bytes; vLLM's default.

    >>> sha256("vllm-none-hash").hex()[:8]
    '066b1e89'
    """
    return hashlib.sha256(pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)).digest()


def sha256_cbor(value: object) -> bytes:
    """SHA-256 of the value's canonical CBOR, 32 bytes; the same in every language.

    >>> sha256_cbor(None).hex()[:8]
    'b0b2988b'
    """
    return hashlib.sha256(cbor_dumps(value)).digest()


HASH_FUNCTIONS: dict[str, HashFunction] = {"sha256": sha256, "sha256_cbor": sha256_cbor}


def cbor_dumps(value: object) -> bytes:
    """Canonical CBOR (RFC 8949) of None, int, bytes, str and tuples or lists of these.

    Raises:
        TypeError: a value of another type.

    >>> cbor_dumps((None, 500, "a", b"z")).hex()
    '84f61901f46161417a'
    """
    if value is None:
        return b"\xf6"
    if isinstance(value, bool):
        return b"\xf5" if value else b"\xf4"
    if isinstance(value, int):
        return _cbor_int(value)
    if isinstance(value, bytes):
        return _cbor_head(2, len(value)) + value
    if isinstance(value, str):
        text = value.encode()
        return _cbor_head(3, len(text)) + text
    if isinstance(value, (tuple, list)):
        return _cbor_head(4, len(value)) + b"".join(map(cbor_dumps, value))
    raise TypeError(f"cbor_dumps: cannot encode {type(value).__name__}")


def _cbor_int(value: int) -> bytes:
    major, argument = (0, value) if value >= 0 else (1, -1 - value)
    if argument < 1 << 64:
        return _cbor_head(major, argument)
    # Beyond 64 bits a number is a tagged byte string: tag 2, or 3 for a negative one.
    magnitude = argument.to_bytes((argument.bit_length() + 7) // 8, "big")
    return _cbor_head(6, major + 2) + _cbor_head(2, len(magnitude)) + magnitude


def _cbor_head(major: int, argument: int) -> bytes:
    """Major type and argument in the fewest bytes."""
    if argument < 24:
        return bytes([major << 5 | argument])
    for code, size in ((24, 1), (25, 2), (26, 4)):
        if argument < 1 << 8 * size:
            return bytes([major << 5 | code]) + argument.to_bytes(size, "big")
    return bytes([major << 5 | 27]) + argument.to_bytes(8, "big")
