"""Values as the text a person reads: ``repr``, in a fixed order, shortened where it is long.

It takes no longer than the text that it gives, whatever the value: what a submission returned is
shown with it.
"""

from collections.abc import Iterable
from itertools import islice

from grader.equality import is_array, record_fields, record_name

LONGEST = 40
LONGEST_TEXT = 200
_LARGEST_INT = 1 << 1024
_LONGEST_REPR = 1000
_MOST_VALUES = 2000
_DEEPEST = 32


def shown(value: object) -> str:
    """The text of a value.

    >>> shown({3, 1, 2}), shown((1,)), shown({"a": [1.5, None]})
    ('{1, 2, 3}', '(1,)', "{'a': [1.5, None]}")
    >>> shown(list(range(1000)))[-31:]
    '38, 39, … 960 more (1000 long)]'
    >>> shown(-(10**5000))
    '<an int of 16610 bits>'
    """
    return _Shown().text(value)


class _Shown:
    """Shows one value; what is too much of it, or too deep in it, is an ellipsis."""

    def __init__(self) -> None:
        self._left = _MOST_VALUES
        self._depth = 0

    def text(self, value: object) -> str:
        self._left -= 1
        if self._left < 0 or self._depth > _DEEPEST:
            return "…"
        self._depth += 1
        try:
            return self._text(value)
        finally:
            self._depth -= 1

    def _text(self, value: object) -> str:
        match value:
            case list():
                return f"[{self._items(value, len(value))}]"
            case tuple():
                return f"({self._items(value, len(value))}{',' if len(value) == 1 else ''})"
            case set() if value:
                return f"{{{self._items(_sorted(value), len(value))}}}"
            case frozenset() if value:
                return f"frozenset({{{self._items(_sorted(value), len(value))}}})"
            case dict():
                pairs = islice(value.items(), LONGEST)
                texts = [f"{self.text(key)}: {self.text(item)}" for key, item in pairs]
                return f"{{{_joined(texts, len(value))}}}"
            case str() | bytes() if len(value) > LONGEST_TEXT:
                return f"{value[:LONGEST_TEXT]!r}… ({len(value)} long)"
            case int() if not -_LARGEST_INT < value < _LARGEST_INT:
                return f"<an int of {value.bit_length()} bits>"
        fields = record_fields(value)
        if fields is not None:
            inner = [f"{name}={self.text(item)}" for name, item in fields.items()]
            return f"{record_name(value)}({', '.join(inner)})"
        return " ".join(repr(value).split()) if is_array(value) else _repr(value)

    def _items(self, values: Iterable[object], number: int) -> str:
        return _joined([self.text(item) for item in islice(values, LONGEST)], number)


def _joined(texts: list[str], number: int) -> str:
    if number <= len(texts):
        return ", ".join(texts)
    return f"{', '.join(texts)}, … {number - len(texts)} more ({number} long)"


def _repr(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_REPR else f"{text[:_LONGEST_REPR]}…"


def _sorted(values: Iterable[object]) -> list[object]:
    # A set's own order changes from process to process where it holds text.
    try:
        return sorted(values)  # type: ignore[type-var]  # falls back when items do not compare
    except TypeError:
        return sorted(values, key=shown)
