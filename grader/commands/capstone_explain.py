"""`vllmlings capstone explain`: what happened and why."""

from __future__ import annotations

import click

from grader.commands.capstone_common import NUMBER, STUDENT, attempts, exam, told


@click.command("explain")
@NUMBER
@STUDENT
@click.option("--no-pager", is_flag=True, help="Print everything at once.")
def command(number: int, student: str | None, no_pager: bool) -> None:
    """What happened and why, with every scenario's steps on both sides: after grading."""
    from grader.report.capstone.result import explain_page
    from grader.report.console import make_console
    from grader.report.pager import show_or_page

    chosen = exam(number, student)
    if not told(attempts(number, student).all):
        raise click.ClickException(
            f"the truth is shown once your predictions are locked in: "
            f"vllmlings capstone grade {number}"
        )
    show_or_page(explain_page(chosen, make_console().width), no_pager=no_pager)
