"""`vllmlings classroom workflow`: grading pull requests on GitHub."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.commands.classroom_common import (
    detail_option,
    lesson_option,
    lessons_chosen,
    overwrite_option,
    written_into,
)

if TYPE_CHECKING:
    from grader.report.classroom.words import Detail


@click.command("workflow")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--private",
    metavar="OWNER/NAME",
    required=True,
    help="The private repository that will hold the suites.",
)
@lesson_option
@detail_option
@overwrite_option
def command(
    folder: Path, private: str, names: tuple[str, ...], detail: Detail, overwrite: bool
) -> None:
    """Write two repositories into DIR: the class's, with a workflow, and a private one.

    Push each to GitHub. Give the private one a read-only deploy key, and the class's the same
    key's private half as its secret SUITES_KEY.
    """
    from grader.classroom.workflow import CLASS, PRIVATE, repositories

    if private.count("/") != 1 or not all(private.split("/")):
        raise click.UsageError(f"--private {private}: give it as OWNER/NAME")
    written_into(folder, repositories(lessons_chosen(names), private, detail), overwrite)
    click.echo(f"{folder / CLASS}: students open pull requests here.")
    click.echo(f"{folder / PRIVATE}: push it to {private}, which students cannot read.")
