"""Values between a suite and a worker: what is handed out is named, what comes is not trusted."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any

from grader.worker.errors import Unusable
from grader.worker.part import Part, described, object_of
from grader.worker.record import Opaque, Record, fields_of, type_name_of
from grader.worker.values import (
    OBJECT,
    PART,
    RECORD,
    BadValue,
    Decoder,
    Encoder,
    TooLarge,
    how_large,
    is_array,
)

_SIMPLE: tuple[Any, ...] = (int, float, str, bytes)


class Parts:
    """The parts handed in during a story, by number."""

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._numbers: dict[int, int] = {}

    def number(self, part: Part) -> int:
        """The part's number; handing it in again does not change it."""
        number = self._numbers.setdefault(id(part), len(self._parts))
        if number == len(self._parts):
            self._parts.append(part)
        return number

    def __getitem__(self, number: int) -> Part:
        if not 0 <= number < len(self._parts):
            raise BadValue(f"a part that was never handed in (number {number})")
        return self._parts[number]


class Reference:
    """Where an object of the submission is: its number, good for one story of one session."""

    __slots__ = ("class_number", "number", "story", "type_name")

    def __init__(self, story: object, number: int, type_name: str, class_number: int) -> None:
        self.story = story
        self.number = number
        self.type_name = type_name
        self.class_number = class_number


class Referring:
    """The base of what stands for an object that stays in the worker."""

    __slots__ = ("_reference",)
    _reference: Reference


class HostEncoder(Encoder):
    """Trees of what a suite passes in."""

    def __init__(self, parts: Parts, story: object, max_depth: int) -> None:
        super().__init__(max_depth)
        self._parts = parts
        self._story = story

    def encode_object(self, value: Any) -> Any:
        if isinstance(value, Referring):
            return [OBJECT, self.number(value._reference)]
        if isinstance(value, Part):
            return [PART, self._parts.number(value), *described(value)]
        if type(value) is Record:
            return self._record(value)
        if isinstance(value, Enum):
            return self._fields(type(value).__name__, {"name": value.name, "value": value.value})
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = [field.name for field in dataclasses.fields(value)]
            return self._fields(
                type(value).__name__, {name: getattr(value, name) for name in names}
            )
        for kind in _SIMPLE:
            if isinstance(value, kind):
                return self.encode(kind.__new__(kind, value))
        if isinstance(value, Mapping):
            return self.encode(dict(value))
        if isinstance(value, Iterable) and not is_array(value):
            return self.encode(list(value))
        if type(value) is Opaque:
            raise Unusable("", f"a {value.type_name} does not travel, so nothing can take it")
        raise TypeError(
            f"a {type(value).__name__} cannot be passed to a submission; "
            "wrap it in Part(..., methods=(...)) to hand it in"
        )

    def _record(self, record: Record) -> Any:
        origin = record._origin
        if origin is not None:
            return [RECORD, self.number(origin), type_name_of(record), {}]
        return self._fields(type_name_of(record), fields_of(record))

    def _fields(self, type_name: str, fields: dict[str, Any]) -> Any:
        return [RECORD, 0, type_name, {name: self.encode(item) for name, item in fields.items()}]

    def number(self, reference: Reference) -> int:
        if reference.story is not self._story:
            raise TypeError(
                f"this {reference.type_name} belongs to an earlier story or another session; "
                "make a new one"
            )
        return reference.number


class HostDecoder(Decoder):
    """Values of trees from the worker."""

    def __init__(
        self,
        parts: Parts,
        story: object,
        max_depth: int,
        handle: Callable[[Reference], Any],
    ) -> None:
        super().__init__(max_depth)
        self._parts = parts
        self._story = story
        self._handle = handle

    def decode_opaque(self, type_name: str, why: str) -> Opaque:
        large = how_large(why)
        if large is not None:
            raise TooLarge(large)
        return Opaque(type_name, why)

    def decode_special(self, tag: int, tree: list[Any]) -> Any:
        if tag == OBJECT:
            _, number, type_name, class_number = tree
            return self._handle(self._reference(number, type_name, class_number))
        if tag == RECORD:
            _, number, type_name, fields, derived = tree
            origin = self._reference(number, type_name, 0) if number else None
            return Record(
                type_name, self._decode_fields(fields), self._decode_fields(derived), origin
            )
        if tag == PART:
            return object_of(self._parts[tree[1]])
        return super().decode_special(tag, tree)

    def _reference(self, number: Any, type_name: Any, class_number: Any) -> Reference:
        if type(number) is not int or type(type_name) is not str or type(class_number) is not int:
            raise BadValue("a malformed reference to an object")
        return Reference(self._story, number, type_name, class_number)

    def _decode_fields(self, fields: Any) -> dict[str, Any]:
        if type(fields) is not dict or any(type(name) is not str for name in fields):
            raise BadValue("a record with malformed fields")
        return {name: self.decode(item) for name, item in fields.items()}
