"""`vllmlings watch`: the verdict each time the exercise is saved."""

from __future__ import annotations

import click

from grader.commands.common import LESSON, the_learner
from manifest.course import Lesson


@click.command("watch")
@click.argument("lesson", type=LESSON, required=False)
def command(lesson: Lesson | None) -> None:
    """Check LESSON (or the next one) each time you save it.

    Keys: n next lesson, h hint, l list, r run again, q quit.
    """
    learner = the_learner()
    lesson = learner.lesson_or_next(lesson)
    click.echo(f"Checking {lesson.path} …")
    from grader.terminal import single_keys
    from grader.watch_session import WatchSession

    with single_keys() as keyboard:
        WatchSession(learner, lesson, keyboard).run()
