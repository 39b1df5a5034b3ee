"""`vllmlings capstone show`: everything that is to be read before anything is predicted."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import click

from grader.commands.capstone_common import NUMBER, STUDENT, exam

if TYPE_CHECKING:
    from rich.console import RenderableType

    from grader.capstone.exam import Capstone

#: Columns where no terminal says how many there are: no line of vLLM's is broken then.
PLAIN = 96


@click.command("show")
@NUMBER
@STUDENT
@click.option("--no-diff", is_flag=True, help="Without the diff, which may need a network.")
@click.option("--no-pager", is_flag=True, help="Print everything at once.")
def command(number: int, student: str | None, no_diff: bool, no_pager: bool) -> None:
    """The problem that users had, the real diff, the scenarios and the questions.

    The diff is made from vLLM's two published wheels, of which only the files in question are
    fetched and checked; in a terminal of 150 columns or more, its sides stand beside each other.
    """
    from rich.text import Text

    from grader.report.capstone.exam import exam_page
    from grader.report.console import make_console
    from grader.report.pager import show_or_page

    chosen = exam(number, student)
    console = make_console()
    wide = _wide()
    console.width = wide or (console.width if console.is_terminal else PLAIN)
    diff = Text() if no_diff else _diff(chosen.capstone, console.width)
    page = exam_page(chosen, diff)
    if wide:
        console.print(page)
    else:
        show_or_page(page, console.width, no_pager=no_pager)


def _wide() -> int | None:
    """The columns of a terminal in which two sides stand beside each other; None for another."""
    from grader.report.capstone.diff import WIDE
    from grader.report.pager import in_terminal

    columns = shutil.get_terminal_size().columns
    return columns if in_terminal() and columns >= WIDE else None


def _diff(capstone: Capstone, width: int) -> RenderableType:
    from rich.text import Text

    from grader.capstone.change import hunks, read_change
    from grader.capstone.releases import unpacked
    from grader.commands.releases import listener
    from grader.report.capstone.diff import diff_page
    from manifest.errors import SourceError
    from manifest.published import published

    change = read_change(capstone.diff_file)
    try:
        with (
            listener() as hears,
            published(change.before, hears) as before,
            published(change.after, hears) as after,
        ):
            old = unpacked(change.before) or before
            new = unpacked(change.after) or after
            files = [(file, hunks(file, old, new)) for file in change.files]
    except SourceError as error:
        return Text(f"The diff cannot be shown: {error}\n", style="bad")
    return diff_page(change, files, width)
