"""Reading plain data key by key, so that each mistake is told with its file, key and cure."""

import difflib
import json
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice

REQUIRED = object()
#: No whole number of a workload is larger, nor smaller than its negative.
LARGEST = 2**63 - 1
LONGEST_NAME = 64


class WorkloadError(ValueError):
    """A workload that cannot be run: where it is wrong, how, and what is allowed there."""

    def __init__(self, source: str, key: str, problem: str, allowed: str) -> None:
        super().__init__(f"{source}: {key}: {problem}; allowed: {allowed}")
        self.source = source
        self.key = key
        self.problem = problem
        self.allowed = allowed


def got(value: object) -> str:
    """What a person wrote, in short, on one line.

    >>> got("x"), got(True), got([1, 2])
    ('got "x"', 'got true', 'got [1, 2]')
    """
    text = json.dumps(_in_short(value), default=str, ensure_ascii=False)
    return f"got {text}" if len(text) <= 60 else f"got {text[:57]}..."


def _in_short(value: object, depth: int = 3) -> object:
    """The value without what would not be shown anyway: it may be huge, or contain itself."""
    if isinstance(value, str):
        return value[:60]
    if isinstance(value, int) and abs(value) > LARGEST:
        return f"a whole number of {value.bit_length()} bits"
    if isinstance(value, (list, tuple, set)):
        return [_in_short(each, depth - 1) for each in islice(value, 20)] if depth else "..."
    if isinstance(value, dict):
        if not depth:
            return "..."
        few = islice(value.items(), 20)
        return {str(_in_short(key, 0)): _in_short(each, depth - 1) for key, each in few}
    return value


@dataclass(frozen=True, slots=True)
class WholeNumbers:
    """A range of whole numbers, both ends included, or open where an end is None.

    >>> 3 in WholeNumbers(1), True in WholeNumbers(1), str(WholeNumbers(1))
    (True, False, 'a whole number of at least 1')
    """

    minimum: int | None = None
    maximum: int | None = None

    def __contains__(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LARGEST:
            return False
        above = self.minimum is None or value >= self.minimum
        return above and (self.maximum is None or value <= self.maximum)

    def __str__(self) -> str:
        if self.minimum is None:
            return "a whole number of at most 64 bits"
        if self.maximum is not None and self.minimum > self.maximum:
            return "none, for those before it leave no room"
        if self.maximum is None:
            return f"a whole number of at least {self.minimum}"
        return f"a whole number from {self.minimum} to {self.maximum}"


class Fields:
    """One mapping of a workload; ``path`` is its own key and "" at the top.

    Raises:
        WorkloadError: ``data`` is no mapping, or it holds a key that is not ``known``.

    >>> Fields({"size": 3}, "w.yaml", "engine", ["size"]).integer("size", minimum=1)
    3
    """

    def __init__(self, data: object, source: str, path: str, known: Collection[str]) -> None:
        self.source = source
        self.path = path
        if not isinstance(data, dict):
            keys = ", ".join(known)
            raise WorkloadError(source, path or "workload", got(data), f"a mapping with {keys}")
        self._data = data
        for key in data:
            if key not in known:
                raise self._unknown(key, known)

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def key(self, name: str) -> str:
        """The full key of one of the fields."""
        return f"{self.path}.{name}" if self.path else name

    def error(self, name: str, problem: str, allowed: str) -> WorkloadError:
        """The error to raise about one of the fields."""
        return WorkloadError(self.source, self.key(name), problem, allowed)

    def value(self, name: str, default: object = REQUIRED, allowed: str = "a value") -> object:
        """What is written under ``name``, unread."""
        if name in self._data:
            return self._data[name]
        if default is REQUIRED:
            raise self.error(name, "missing", allowed)
        return default

    def integer(
        self,
        name: str,
        default: object = REQUIRED,
        minimum: int | None = None,
        maximum: int | None = None,
    ) -> int:
        """A whole number; true and 1.0 are none."""
        numbers = WholeNumbers(minimum, maximum)
        return self._integer(name, self.value(name, default, str(numbers)), numbers)

    def optional_integer(
        self, name: str, minimum: int | None = None, maximum: int | None = None
    ) -> int | None:
        """A whole number, or null."""
        value = self.value(name, None)
        if value is None:
            return None
        return self._integer(name, value, WholeNumbers(minimum, maximum), ", or null")

    def number(self, name: str, default: float) -> float:
        """A number, whole or not."""
        value = self.value(name, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.error(name, got(value), "a number")
        return float(value)

    def boolean(self, name: str, default: bool) -> bool:
        """True or false."""
        value = self.value(name, default)
        if not isinstance(value, bool):
            raise self.error(name, got(value), "true or false")
        return value

    def text(self, name: str, default: object = REQUIRED) -> str:
        """A text of at least one character."""
        value = self.value(name, default, "a text of at least one character")
        if not isinstance(value, str) or not value:
            raise self.error(name, got(value), "a text of at least one character, in quotes")
        # A pickle, and so a block's hash, depends on whether equal texts are one object.
        return sys.intern(value)

    def identifier(self, name: str) -> str:
        """A text that can stand in a table: short, and of characters that print."""
        value = self.text(name)
        if len(value) > LONGEST_NAME or not value.isprintable():
            raise self.error(name, got(value), f"1 to {LONGEST_NAME} characters that print")
        return value

    def optional_text(self, name: str) -> str | None:
        """A text, or null."""
        return None if self.value(name, None) is None else self.text(name)

    def sequence(
        self, name: str, default: object = REQUIRED, allowed: str = "a list"
    ) -> list[object]:
        """A list, its items unread."""
        value = self.value(name, default, allowed)
        if not isinstance(value, (list, tuple)):
            raise self.error(name, got(value), allowed)
        return list(value)

    def integers(
        self,
        name: str,
        default: object = REQUIRED,
        minimum: int | None = None,
        maximum: int | None = None,
    ) -> tuple[int, ...]:
        """A list of whole numbers."""
        numbers = WholeNumbers(minimum, maximum)
        values = self.sequence(name, default, f"a list, each {numbers}")
        return tuple(self._integer(f"{name}[{i}]", each, numbers) for i, each in enumerate(values))

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts, none of them empty; none when it is not there."""
        allowed = "a list, each a text of at least one character"
        values = self.sequence(name, (), allowed)
        for i, each in enumerate(values):
            if not isinstance(each, str) or not each:
                raise self.error(f"{name}[{i}]", got(each), "a text of at least one character")
        return tuple(str(each) for each in values)

    def mapping(self, name: str, known: Collection[str]) -> "Fields":
        """A mapping under ``name``, empty when it is not there."""
        return Fields(self.value(name, {}), self.source, self.key(name), known)

    def items(self, name: str, known: Collection[str]) -> Iterator["Fields"]:
        """The mappings in a list under ``name``."""
        for i, item in enumerate(self.sequence(name, ())):
            yield Fields(item, self.source, f"{self.key(name)}[{i}]", known)

    def _integer(self, name: str, value: object, numbers: WholeNumbers, or_else: str = "") -> int:
        if isinstance(value, int) and value in numbers:
            return value
        raise self.error(name, got(value), f"{numbers}{or_else}")

    def _unknown(self, key: object, known: Collection[str]) -> WorkloadError:
        nearest = difflib.get_close_matches(str(key), known, n=1)
        hint = f'; did you mean "{nearest[0]}"?' if nearest else ""
        return self.error(str(key), f"unknown key{hint}", ", ".join(known))
