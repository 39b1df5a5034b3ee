"""`vllmlings hint`: one step further each time."""

from __future__ import annotations

import click

from grader.commands.common import LESSON, Learner
from grader.lessons import Lesson as Files
from manifest.course import Lesson


@click.command("hint")
@click.argument("lesson", type=LESSON, required=False)
@click.option("--reset", is_flag=True, help="Begin again with the first hint.")
def command(lesson: Lesson | None, reset: bool) -> None:
    """A hint for LESSON (or the next one): first a nudge, then more each time."""
    from grader.report.console import show
    from grader.report.hints import hint_page

    learner = Learner()
    lesson = learner.lesson_or_next(lesson)
    if reset:
        with learner.progress.change(lesson.path) as record:
            record.hints_shown = 0
        click.echo(f"{lesson.path}: the next hint is the first one again.")
        return
    show(hint_page(lesson, *next_hint(learner, lesson)))


def next_hint(learner: Learner, lesson: Lesson) -> tuple[list[str], int]:
    """All hints of a lesson, and how many of them are shown now, counting the new one."""
    from grader.hints import read_hints

    hints = read_hints(Files(lesson.path).hints)
    if not hints:
        raise click.ClickException(f"{lesson.path}: there is no hint for this lesson")
    with learner.progress.change(lesson.path) as record:
        record.hints_shown = min(record.hints_shown + 1, len(hints))
    learner.warn_of_lost_progress()
    return hints, record.hints_shown
