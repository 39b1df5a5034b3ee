"""The real lines of a change on the terminal: read from two releases, kept nowhere."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from grader.capstone.change import Change, ChangedFile, Hunk, Line
from grader.report.console import harmless

#: Columns from which on the two sides stand beside each other.
WIDE = 150
#: Columns for a line's number and its sign.
NUMBERS = 7


def diff_page(
    change: Change, files: list[tuple[ChangedFile, tuple[Hunk, ...]]], width: int
) -> RenderableType:
    """All files' hunks; in a wide terminal side by side."""
    parts: list[RenderableType] = []
    for file, hunks in files:
        whole = "" if file.hunks else ", the whole difference"
        parts += [
            Text.assemble(
                (file.path, "head"), (f"  vLLM {change.before} → {change.after}{whole}", "quiet")
            )
        ]
        for hunk in hunks:
            parts += [Text(f"@@ {hunk.inside or 'module'}", style="name")]
            parts += [_beside(hunk, width)] if width >= WIDE else [_unified(hunk, width)]
        parts.append(Text())
    return Group(*parts)


def _unified(hunk: Hunk, width: int) -> Text:
    text = Text(no_wrap=True, overflow="fold")
    room = width - NUMBERS
    for line in hunk.lines:
        sign, style = _sign(line)
        number = line.after if line.after is not None else line.before
        code = harmless(line.text.expandtabs())
        for start in range(0, max(len(code), 1), room):
            text.append(f"{number:>5} " if start == 0 else "    ↪ ", style="quiet")
            text.append(f"{sign}{code[start : start + room]}\n", style=style)
    text.rstrip()
    return text


def _beside(hunk: Hunk, width: int) -> Table:
    column = (width - 14) // 2
    table = Table.grid(padding=(0, 1))
    for size in (5, column, 5, column):
        table.add_column(width=size, overflow="fold")
    for left, right in _pairs(hunk):
        table.add_row(*_cells(left, "before", "bad"), *_cells(right, "after", "good"))
    return table


def _cells(line: Line | None, side: str, style: str) -> tuple[Text, Text]:
    if line is None:
        return Text(), Text()
    changed = line.before is None or line.after is None
    number = Text(f"{getattr(line, side):>5}", style="quiet")
    return number, Text(harmless(line.text.expandtabs()), style=style if changed else "default")


def _pairs(hunk: Hunk) -> Iterator[tuple[Line | None, Line | None]]:
    """Lines that stand beside each other: what is gone beside what came in its place."""
    gone: list[Line] = []
    come: list[Line] = []
    for line in (*hunk.lines, None):
        if line is not None and line.after is None:
            gone.append(line)
        elif line is not None and line.before is None:
            come.append(line)
        else:
            for index in range(max(len(gone), len(come))):
                yield (
                    gone[index] if index < len(gone) else None,
                    come[index] if index < len(come) else None,
                )
            gone, come = [], []
            if line is not None:
                yield line, line


def _sign(line: Line) -> tuple[str, str]:
    if line.after is None:
        return "-", "bad"
    return ("+", "good") if line.before is None else (" ", "default")
