"""A long page through the reader's pager, a short one at once."""

from __future__ import annotations

import sys

import click
from rich.console import RenderableType

from grader.report.console import make_console, show


def in_terminal() -> bool:
    """Can the reader see a page and press keys?"""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def show_or_page(
    page: RenderableType,
    width: int | None = None,
    no_pager: bool = False,
    always: bool = False,
    narrow: int | None = None,
) -> None:
    """Print the page; in a terminal that is too short for it, through $PAGER.

    `width` is what the page would like to have in columns: where the output is no terminal, it
    has it, so that no line of it is broken. With `always`, short pages have the pager, too; and
    no terminal is wider than `narrow`, if that is given.
    """
    if not in_terminal():
        show(page, width)
        return
    console = make_console()
    console.width = min(console.width, narrow or console.width)
    with console.capture() as captured:
        console.print(page)
    text = captured.get()
    if no_pager or (len(text.splitlines()) < console.height and not always):
        click.echo(text, nl=False, color=True)
    else:
        click.echo_via_pager(text)
