"""`vllmlings read`: a lesson's text in the terminal."""

from __future__ import annotations

import click

from grader.commands.common import LESSON, the_learner
from grader.lessons import Lesson as Files
from manifest.course import Lesson


@click.command("read")
@click.argument("lesson", type=LESSON, required=False)
@click.option("--answers", is_flag=True, help="Show the answers to the questions at the end.")
@click.option("--no-pager", is_flag=True, help="Print everything at once.")
def command(lesson: Lesson | None, answers: bool, no_pager: bool) -> None:
    """The text of LESSON, or of the next one.

    In a terminal it is shown by $PAGER; below it, a key shows the code that the text cites.
    """
    from grader.report.citations import number_citations
    from grader.report.console import show
    from grader.report.lesson import WIDTH, lesson_page
    from grader.report.pager import in_terminal, show_or_page

    lesson = the_learner().lesson_or_next(lesson)
    file = Files(lesson.path).text
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{file}: cannot be read: {error.strerror}") from error
    page = lesson_page(text, answers)
    if no_pager or not in_terminal():
        show(page)
        return
    show_or_page(page, narrow=WIDTH, always=True)
    _, keys = number_citations(text)
    if keys:
        from grader.code_prompt import offer_code
        from manifest import pins, symbols

        offer_code(keys, symbols.load(), pins.load().version)
