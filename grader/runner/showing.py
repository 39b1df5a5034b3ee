"""Values as the text a person reads: ``repr``, in a fixed order, shortened where it is long."""

from collections.abc import Iterable

from grader.equality import is_array, record_fields, record_name

LONGEST = 40
LONGEST_TEXT = 200


def shown(value: object) -> str:
    """The text of a value.

    >>> shown({3, 1, 2}), shown((1,)), shown({"a": [1.5, None]})
    ('{1, 2, 3}', '(1,)', "{'a': [1.5, None]}")
    >>> shown(list(range(1000)))[-30:]
    '38, 39, … 960 more (1000 long)]'
    """
    match value:
        case list():
            return f"[{_items(value)}]"
        case tuple():
            return f"({_items(value)}{',' if len(value) == 1 else ''})"
        case set() if value:
            return f"{{{_items(_sorted(value))}}}"
        case frozenset() if value:
            return f"frozenset({{{_items(_sorted(value))}}})"
        case dict():
            pairs = [f"{shown(key)}: {shown(item)}" for key, item in value.items()]
            return f"{{{_joined(pairs)}}}"
        case str() | bytes() if len(value) > LONGEST_TEXT:
            return f"{value[:LONGEST_TEXT]!r}… ({len(value)} long)"
    fields = record_fields(value)
    if fields is not None:
        inner = [f"{name}={shown(item)}" for name, item in fields.items()]
        return f"{record_name(value)}({', '.join(inner)})"
    return f"{value!r}" if not is_array(value) else " ".join(repr(value).split())


def _items(values: Iterable[object]) -> str:
    return _joined([shown(item) for item in values])


def _joined(texts: list[str]) -> str:
    if len(texts) <= LONGEST:
        return ", ".join(texts)
    rest = len(texts) - LONGEST
    return f"{', '.join(texts[:LONGEST])}, … {rest} more ({len(texts)} long)"


def _sorted(values: Iterable[object]) -> list[object]:
    # A set's own order changes from process to process where it holds text.
    try:
        return sorted(values)  # type: ignore[type-var]  # falls back when items do not compare
    except TypeError:
        return sorted(values, key=repr)
