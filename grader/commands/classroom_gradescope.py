"""`vllmlings classroom gradescope`: an autograder for Gradescope."""

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
from grader.sandbox import Sandbox

if TYPE_CHECKING:
    from grader.report.classroom.words import Detail


@click.command("gradescope")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@lesson_option
@detail_option
@click.option(
    "--sandbox",
    type=click.Choice(["bubblewrap", "none"]),
    default="bubblewrap",
    show_default=True,
    help="Where bubblewrap does not work the autograder refuses to grade; none says so in results.",
)
@overwrite_option
def command(
    folder: Path, names: tuple[str, ...], detail: Detail, sandbox: Sandbox, overwrite: bool
) -> None:
    """Write DIR/autograder.zip, to upload as the autograder of an assignment.

    Students hand in files named after lessons (block_pool.py or block_pool.ipynb). The zip holds
    suites and solutions: it is for you and Gradescope alone.
    """
    from grader.classroom.gradescope import autograder
    from grader.classroom.outgoing import zipped

    lessons = lessons_chosen(names)
    files = autograder(lessons, sandbox, detail)
    written_into(folder, {"autograder.zip": zipped(files)}, overwrite)
    click.echo(f"{folder / 'autograder.zip'}: grades {', '.join(each.name for each in lessons)}.")
