"""`vllmlings read`: a lesson's text in the terminal."""

from __future__ import annotations

import sys

import click

from grader.commands.common import LESSON
from grader.learner import Learner
from grader.lessons import Lesson as Files
from manifest.course import Lesson


@click.command("read")
@click.argument("lesson", type=LESSON, required=False)
@click.option("--answers", is_flag=True, help="Show the answers to the questions at the end.")
@click.option("--no-pager", is_flag=True, help="Print everything at once.")
def command(lesson: Lesson | None, answers: bool, no_pager: bool) -> None:
    """The text of LESSON, or of the next one. In a terminal it is shown by $PAGER."""
    from grader.report.console import make_console, show
    from grader.report.lesson import WIDTH, lesson_page

    lesson = Learner().lesson_or_next(lesson)
    file = Files(lesson.path).text
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{file}: cannot be read: {error.strerror}") from error
    page = lesson_page(text, answers)
    console = make_console()
    console.width = min(console.width, WIDTH)
    if no_pager or not (sys.stdin.isatty() and sys.stdout.isatty()):
        show(page)
        return
    with console.capture() as captured:
        console.print(page)
    click.echo_via_pager(captured.get())
