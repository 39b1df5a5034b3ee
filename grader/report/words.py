"""Symbols and words that go together, so that nothing is told by colour alone."""

from __future__ import annotations

from typing import NamedTuple

from rich.text import Text

from grader.standing import LessonStanding, Standing


class Mark(NamedTuple):
    symbol: str
    style: str


MARKS = {
    Standing.TO_COME: Mark("·", "quiet"),
    Standing.NOT_STARTED: Mark("○", "default"),
    Standing.STARTED: Mark("◐", "wait"),
    Standing.TRIED: Mark("◐", "wait"),
    Standing.PASSED: Mark("✓", "good"),
    Standing.PENDING: Mark("◐", "wait"),
}


def standing_text(one: LessonStanding) -> Text:
    """`✓ passed 20/20`, `◐ not yet passed 12/20`, `○ not started`."""
    mark = MARKS[one.standing]
    points = ""
    if one.points is not None and one.standing in (Standing.PASSED, Standing.TRIED):
        points = f" {one.points}/{one.max_points}"
    return Text(f"{mark.symbol} {one.standing.value}{points}", style=mark.style)


def commands(*lines: tuple[str, str]) -> Text:
    """Lines of what to type, each with what it does: `  vllmlings hint   a nudge`."""
    width = max(len(command) for command, _ in lines)
    text = Text()
    for number, (command, what) in enumerate(lines):
        text.append("\n" if number else "")
        text.append(f"  {command.ljust(width)}", style="command")
        text.append(f"   {what}")
    return text


def counted(number: int, noun: str) -> str:
    """
    >>> counted(1, "point"), counted(3, "point")
    ('1 point', '3 points')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def listed(words: list[str]) -> str:
    """
    >>> listed(["6"]), listed(["6", "7", "9"])
    ('6', '6, 7 and 9')
    """
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
