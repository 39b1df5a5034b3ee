"""The list of capstones, and how far a learner is with each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from grader.capstone.attempts import Attempt
from grader.capstone.change import Change
from grader.capstone.exam import Capstone
from grader.report.words import commands


def list_page(
    capstones: Sequence[Capstone],
    changes: Mapping[int, Change],
    attempts: Mapping[int, Sequence[Attempt]],
) -> RenderableType:
    """All capstones: number, title, releases, and the first attempt's points."""
    table = Table.grid(padding=(0, 2))
    for one in capstones:
        change = changes[one.number]
        table.add_row(
            Text(f"{one.number:>2}", style="name"),
            one.title,
            Text(f"{change.before} → {change.after}", style="quiet"),
            _standing(attempts[one.number]),
        )
    head = Text("Real pull requests: read the diff, predict in numbers what it does", "head")
    next_steps = commands(
        ("vllmlings capstone show N", "the problem, the diff, the scenarios"),
        ("vllmlings capstone predict N", "a file to fill in"),
        ("vllmlings capstone grade N", "lock it in and see the truth"),
    )
    return Group(head, Text(), table, Text(), next_steps)


def _standing(attempts: Sequence[Attempt]) -> Text:
    if not attempts:
        return Text("○ not started")
    first = attempts[0]
    if first.points is None:
        return Text("◐ locked in", style="wait")
    return Text(f"✓ {first.points:g}/{first.max_points}", style="good")
