"""Values that stand for an object of the submission, on the trusted side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Record:
    """A dataclass, named tuple or enum member, as its fields.

    Two are equal when their type's name and all fields are. `derived` holds the values of its
    class's public properties: readable, not compared. A suite may build one and pass it in: it
    arrives as an instance of the submission's own class of that name.

    >>> output = Record("SchedulerOutput", {"num_scheduled_tokens": {"a": 3}})
    >>> output.num_scheduled_tokens
    {'a': 3}
    >>> output == Record("SchedulerOutput", {"num_scheduled_tokens": {"a": 4}})
    False
    """

    __slots__ = ("_derived", "_fields", "_origin", "_type_name")

    def __init__(
        self,
        type_name: str,
        fields: Mapping[str, Any],
        derived: Mapping[str, Any] | None = None,
        origin: object = None,
    ) -> None:
        object.__setattr__(self, "_type_name", type_name)
        object.__setattr__(self, "_fields", dict(fields))
        object.__setattr__(self, "_derived", dict(derived or {}))
        # where it was taken from, so that it goes back in as that very object
        object.__setattr__(self, "_origin", origin)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"a Record has no attribute {name!r}")
        fields: dict[str, Any] = self._fields
        if name in fields:
            return fields[name]
        derived: dict[str, Any] = self._derived
        if name in derived:
            return derived[name]
        raise AttributeError(f"{self._type_name} has no field {name!r}; it has {', '.join(fields)}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Record is a copy: setting {name!r} would not reach the submission")

    def __eq__(self, other: object) -> bool:
        if type(other) is not Record:
            return NotImplemented
        return bool(self._type_name == other._type_name and self._fields == other._fields)

    def __hash__(self) -> int:
        try:
            return hash((self._type_name, tuple(self._fields.items())))
        except TypeError:
            return hash(self._type_name)

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={value!r}" for name, value in self._fields.items())
        return f"{self._type_name}({inner})"


def type_name_of(record: Record) -> str:
    """The name of the submission's class that the record was taken from."""
    name: str = record._type_name
    return name


def fields_of(record: Record) -> dict[str, Any]:
    """The fields of a record, in the order of their definition."""
    fields: dict[str, Any] = record._fields
    return fields


class Opaque:
    """A value that does not travel (a generator, a file, a numpy scalar): equal to nothing.

    >>> Opaque("generator") == Opaque("generator")
    False
    """

    __slots__ = ("type_name", "why")

    def __init__(self, type_name: str, why: str = "") -> None:
        self.type_name = type_name
        self.why = why

    def __eq__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"<{self.type_name}{', ' if self.why else ''}{self.why}>"
