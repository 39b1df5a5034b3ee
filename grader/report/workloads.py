"""The course's workloads, a line or two each."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from grader.report.words import commands

FIRST = "first_steps"


def workload_list(workloads: list[tuple[str, str]]) -> RenderableType:
    """The name of each workload with what it is about, and how one is run."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for name, words in workloads:
        table.add_row(Text(name, style="name"), Text(words))
    run = (f"vllmlings engine {FIRST}", "runs the engine on it")
    return Group(table, Text(), commands(run, (f"{run[0]} --mine", "on your own parts")))
