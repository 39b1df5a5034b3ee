"""Values as trees that msgpack carries without loss, and back.

A scalar is itself. Everything else is a list that begins with a tag, so that a tuple stays a
tuple and a set a set. Types are compared exactly: a subclass of a builtin is not that builtin.
What is neither is left to the two sides, which know what stands for an object of the other.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any, Final

from grader.worker.record import Opaque

LIST: Final = 0
TUPLE: Final = 1
SET: Final = 2
FROZENSET: Final = 3
DICT: Final = 4
BIG: Final = 5
SURROGATES: Final = 6
ARRAY: Final = 7
RECORD: Final = 8
OBJECT: Final = 9
PART: Final = 10
OPAQUE: Final = 11

SCALARS: Final = frozenset({NoneType, bool, int, float, str, bytes})
_PLAIN: Final = frozenset({NoneType, bool, float, bytes})
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_NODES: Final = 250_000
_TOO_LARGE: Final = "too large: "
_DTYPE = re.compile(r"[<>|=]?[biufc][0-9]{1,2}")


class BadValue(Exception):
    """A tree that no encoder makes."""


class TooLarge(Exception):
    """A value of which more came than is ever wanted."""


class Encoder:
    """Makes trees. A side derives from it and says what becomes of its objects."""

    def __init__(self, max_depth: int) -> None:
        self._max_depth = max_depth
        self._depth = 0
        self._nodes = 0
        self._open: set[int] = set()

    def encode(self, value: Any) -> Any:
        """The tree of a value.

        >>> class Plain(Encoder):
        ...     def encode_object(self, value):
        ...         raise TypeError(type(value))
        >>> Plain(max_depth=8).encode((1, [2]))
        [1, 1, [0, 2]]
        """
        kind = type(value)
        if kind is int and _LEAST <= value <= _MOST:
            return value
        if kind in _PLAIN:
            return value
        if kind is str and value.isascii():
            return value
        if self._depth == 0:
            self._nodes = 0
        return self._encode_compound(kind, value)

    def encode_object(self, value: Any) -> Any:
        """The tree of a value that is not of a builtin type."""
        raise NotImplementedError

    def _encode_compound(self, kind: type, value: Any) -> Any:
        if kind is str:
            return _encode_text(value)
        if kind is int:
            return [BIG, value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)]
        if self._depth >= self._max_depth:
            return opaque(value, f"nested deeper than {self._max_depth}")
        if id(value) in self._open:
            return opaque(value, "which contains itself")
        self._depth += 1
        self._open.add(id(value))
        try:
            return self._encode_items(kind, value)
        finally:
            self._open.discard(id(value))
            self._depth -= 1

    def _encode_items(self, kind: type, value: Any) -> Any:
        container = _CONTAINERS.get(kind)
        if container is None and kind is not dict:
            if is_array(value):
                return _encode_array(value)
            return self.encode_object(value)
        self._nodes += len(value)
        if self._nodes > _NODES:
            return too_large(type(value).__name__, f"more than {_NODES:,} values")
        if container is not None:
            # what `encode` does with numbers, without a call for each: most lists are of them
            return [container] + [
                item
                if (type(item) is int and _LEAST <= item <= _MOST) or type(item) in _PLAIN
                else self.encode(item)
                for item in value
            ]
        tree = [DICT]
        for key, item in value.items():
            tree += (self.encode(key), self.encode(item))
        return tree


_CONTAINERS: Final[dict[type, int]] = {
    list: LIST,
    tuple: TUPLE,
    set: SET,
    frozenset: FROZENSET,
}


def opaque(value: object, why: str = "") -> list[Any]:
    """The tree of a value that does not travel."""
    kind = type(value)
    module = kind.__module__
    name = kind.__name__ if module == "builtins" else f"{module}.{kind.__qualname__}"
    return [OPAQUE, _plain_text(name), why]


def too_large(name: str, how_large: str) -> list[Any]:
    """The tree of a value that is too large to travel."""
    return [OPAQUE, _plain_text(name), _TOO_LARGE + how_large]


def is_array(value: object) -> bool:
    """Whether it is exactly a numpy array; numpy is not imported for that."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(value) is getattr(numpy, "ndarray", None)


def how_large(why: str) -> str | None:
    """How large the value was that an opaque one stands for, if that is why it did not travel."""
    return why.removeprefix(_TOO_LARGE) if why.startswith(_TOO_LARGE) else None


def _plain_text(text: str) -> str:
    return str.__str__(text)[:200].encode("utf-8", "backslashreplace").decode()


def _encode_text(text: str) -> Any:
    try:
        text.encode()
    except UnicodeEncodeError:
        return [SURROGATES, text.encode("utf-8", "surrogatepass")]
    return text


def _encode_array(array: Any) -> Any:
    if not _DTYPE.fullmatch(array.dtype.str):
        return opaque(array, f"of {_plain_text(str(array.dtype))}")
    return [ARRAY, array.dtype.str, list(array.shape), array.tobytes()]


class Decoder:
    """Makes values of trees. One that no encoder makes raises `BadValue`, or what Python says."""

    def __init__(self, max_depth: int) -> None:
        self._depth_left = max_depth + 2  # an honest tree ends in an Opaque one level deeper

    def decode(self, tree: Any) -> Any:
        """The value of a tree, the inverse of `Encoder.encode`."""
        if type(tree) in SCALARS:
            return tree
        if type(tree) is not list or not tree or type(tree[0]) is not int:
            raise BadValue("a value of no known form")
        if not self._depth_left:
            raise BadValue("a value nested too deep")
        self._depth_left -= 1
        try:
            return self._decode_tagged(tree[0], tree)
        finally:
            self._depth_left += 1

    def decode_opaque(self, type_name: str, why: str) -> Any:
        """What stands for a value that did not travel."""
        return Opaque(type_name, why)

    def decode_special(self, tag: int, tree: list[Any]) -> Any:
        """The value of a tree with one of the tags that stand for objects."""
        raise BadValue(f"a value with the unknown tag {tag}, of {len(tree)} parts")

    def _decode_tagged(self, tag: int, tree: list[Any]) -> Any:
        make = _MAKERS.get(tag)
        if make is not None:
            decode = self.decode
            return make([item if type(item) in SCALARS else decode(item) for item in tree[1:]])
        if tag == DICT:
            items = map(self.decode, tree[1:])
            return dict(zip(items, items, strict=True))
        if tag == BIG:
            return int.from_bytes(_exactly(bytes, tree[1]), "little", signed=True)
        if tag == SURROGATES:
            return _exactly(bytes, tree[1]).decode("utf-8", "surrogatepass")
        if tag == ARRAY:
            return _decode_array(tree[1:])
        if tag == OPAQUE:
            return self.decode_opaque(_exactly(str, tree[1]), _exactly(str, tree[2]))
        return self.decode_special(tag, tree)


_MAKERS: Final[dict[int, Callable[[Any], Any]]] = {
    LIST: list,
    TUPLE: tuple,
    SET: set,
    FROZENSET: frozenset,
}


def _exactly(kind: type[Any], value: Any) -> Any:
    if type(value) is not kind:
        raise BadValue(f"{type(value).__name__} where {kind.__name__} belongs")
    return value


def _decode_array(parts: Sequence[Any]) -> Any:
    dtype, shape, data = parts
    if type(dtype) is not str or type(data) is not bytes or not _DTYPE.fullmatch(dtype):
        raise BadValue("an array of an unknown dtype")
    if any(type(size) is not int or size < 0 for size in shape):
        raise BadValue("an array of an impossible shape")
    import numpy

    return numpy.frombuffer(data, dtype).reshape(shape).copy()
