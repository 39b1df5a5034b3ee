"""Two values under each other, with the place marked where they begin to differ."""

from __future__ import annotations

import re

from rich.text import Text

from grader.report.console import harmless

_TOKEN = re.compile(r"\w+|\s+|.", re.DOTALL)
_LEAD = 16


def first_difference(expected: str, actual: str) -> tuple[int, int, int]:
    """Where two texts begin to differ, and how long the differing token is in each.

    >>> first_difference("[1, 20, 3]", "[1, 25, 3]")
    (4, 2, 2)
    >>> first_difference("[1, 2]", "[1]")
    (2, 1, 1)
    """
    position = 0
    theirs, ours = _TOKEN.findall(expected), _TOKEN.findall(actual)
    for left, right in zip(theirs, ours, strict=False):
        if left != right:
            return position, len(left), len(right)
        position += len(left)
    common = min(len(theirs), len(ours))
    missing = [len(tokens[common]) if len(tokens) > common else 0 for tokens in (theirs, ours)]
    return position, missing[0], missing[1]


def compared(expected: str, actual: str, labels: tuple[str, str], width: int) -> Text:
    """Both values, each on a line behind its label, and a `^` under the first difference.

    Values too long for the line are cut around the difference.
    """
    expected, actual = harmless(_one_line(expected)), harmless(_one_line(actual))
    position, expected_length, actual_length = first_difference(expected, actual)
    label_width = max(len(label) for label in labels) + 1
    room = max(width - label_width, 20)
    start = _cut_at(position, max(len(expected), len(actual)), room)
    text = Text(no_wrap=True, overflow="crop")
    column = position - start + (1 if start else 0)
    for label, value, length, style in (
        (labels[0], expected, expected_length, "good"),
        (labels[1], actual, actual_length, "bad"),
    ):
        line = Text(_window(value, start, room))
        line.stylize(f"bold {style}", column, column + length)
        text.append(label.ljust(label_width), style="quiet").append_text(line).append("\n")
    marks = "^" * max(1, min(actual_length or 1, room - column))
    return text.append(" " * (label_width + column)).append(marks, style="bad")


def _cut_at(position: int, longest: int, room: int) -> int:
    """The first character shown: 0 unless the values are too long for the line."""
    if longest <= room:
        return 0
    return max(0, position - _LEAD)


def _window(value: str, start: int, room: int) -> str:
    shown = ("…" if start else "") + value[start:]
    return shown if len(shown) <= room else shown[: room - 1] + "…"


def _one_line(value: str) -> str:
    return value.replace("\n", "⏎")
