"""`vllmlings hint`: one step further each time."""

from __future__ import annotations

import click

from grader.commands.common import LESSON, the_learner
from grader.learner import NoHints
from manifest.course import Lesson


@click.command("hint")
@click.argument("lesson", type=LESSON, required=False)
@click.option("--all", "so_far", is_flag=True, help="Those shown so far, and no new one.")
@click.option("--reset", is_flag=True, help="Begin again with the first hint.")
def command(lesson: Lesson | None, so_far: bool, reset: bool) -> None:
    """A hint for LESSON (or the next one): first a nudge, then more each time."""
    from grader.report.console import show
    from grader.report.hints import hint_page, hints_so_far

    learner = the_learner()
    lesson = learner.lesson_or_next(lesson)
    if reset:
        with learner.progress.change(lesson.path) as record:
            record.hints_shown = 0
        click.echo(f"{lesson.path}: the next hint is the first one again.")
        return
    try:
        hints, shown = learner.hints(lesson) if so_far else learner.next_hint(lesson)
    except NoHints as error:
        raise click.ClickException(str(error)) from error
    page = hints_so_far if so_far else hint_page
    show(page(lesson, hints, shown))
