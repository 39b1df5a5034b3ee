"""Two versions of a file compared, in signs and colours."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from grader.report.console import harmless

CONTEXT = 2
_STYLES = {"+": "good", "-": "bad", "@": "name", " ": "default"}


def unified(yours: str, theirs: str, your_name: str, their_name: str, width: int) -> Text:
    """`-` your lines, `+` the solution's, with a little of what is the same around them.

    A line longer than `width` goes on under its own sign, after a `↪`.
    """
    text = Text(no_wrap=True, overflow="fold")
    text.append(f"- {your_name} (yours)\n", style="bad")
    text.append(f"+ {their_name}\n", style="good")
    lines = difflib.unified_diff(yours.splitlines(), theirs.splitlines(), n=CONTEXT, lineterm="")
    for line in list(lines)[2:]:
        for part in _folded(harmless(line.expandtabs()), width):
            text.append(f"{part}\n", style=_STYLES[line[0]])
    text.rstrip()
    return text


def _folded(line: str, width: int) -> Iterator[str]:
    """The line in parts that fit; each behind the first begins with the sign and a `↪`.

    >>> list(_folded("+ab = cd", 6))
    ['+ab = ', '+ ↪ cd']
    """
    yield line[:width]
    mark = f"{line[:1]} ↪ "
    room = width - len(mark)
    for start in range(width, len(line), room):
        yield mark + line[start : start + room]


def side_by_side(yours: str, theirs: str, width: int) -> RenderableType:
    """Two columns; `<` only yours, `>` only the solution's, `|` changed, `⋮` the same, left out."""
    column = (width - 3) // 2
    table = Table.grid(padding=0)
    table.add_column(width=column, no_wrap=False, overflow="fold")
    table.add_column(width=3)
    table.add_column(width=column, no_wrap=False, overflow="fold")
    table.add_row(Text("yours", style="head"), "", Text("the solution", style="head"))
    for left, sign, right in _rows(yours.splitlines(), theirs.splitlines()):
        changed = sign not in (" ", "⋮")
        table.add_row(
            Text(harmless(left), style="bad" if changed else "default"),
            Text(f" {sign} ", style="quiet"),
            Text(harmless(right), style="good" if changed else "default"),
        )
    return table


def _rows(left: list[str], right: list[str]) -> Iterator[tuple[str, str, str]]:
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    for number, group in enumerate(matcher.get_grouped_opcodes(CONTEXT)):
        if number:
            yield "", "⋮", ""
        for kind, left_start, left_end, right_start, right_end in group:
            lefts, rights = left[left_start:left_end], right[right_start:right_end]
            for row in range(max(len(lefts), len(rights))):
                one = lefts[row] if row < len(lefts) else None
                other = rights[row] if row < len(rights) else None
                yield one or "", _sign(kind, one, other), other or ""


def _sign(kind: str, left: str | None, right: str | None) -> str:
    if kind == "equal":
        return " "
    if left is None:
        return ">"
    return "<" if right is None else "|"
