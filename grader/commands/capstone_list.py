"""`vllmlings capstone list`."""

from __future__ import annotations

import click

from grader.commands.capstone_common import attempts, told


@click.command("list")
def command() -> None:
    """All capstones, and the points of your first attempt at each."""
    from grader.capstone.change import read_change
    from grader.capstone.exam import capstones
    from grader.report.capstone.course import list_page
    from grader.report.console import show

    everything = capstones()
    changes = {one.number: read_change(one.diff_file) for one in everything}
    made = {one.number: told(attempts(one.number, None).all) for one in everything}
    show(list_page(everything, changes, made))
