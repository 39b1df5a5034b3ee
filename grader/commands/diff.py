"""`vllmlings diff`: a learner's work beside the solution, after a pass."""

from __future__ import annotations

import click

from grader.commands.common import LESSON, the_learner
from grader.commands.solution import require_pass, solution_source
from grader.places import shown
from grader.source import Unreadable, read_source
from manifest.course import Lesson


@click.command("diff")
@click.argument("lesson", type=LESSON)
@click.option("--reveal", is_flag=True, help="Show it before you have passed.")
@click.option("--side-by-side", "-y", is_flag=True, help="Two columns, yours at the left.")
def command(lesson: Lesson, reveal: bool, side_by_side: bool) -> None:
    """Your work on LESSON beside the solution, once you have passed it."""
    learner = the_learner()
    require_pass(learner, lesson, reveal, "diff")
    exercise = learner.places.exercise(lesson.path)
    try:
        yours = read_source(exercise).content.decode()
    except Unreadable as error:
        raise click.ClickException(f"{shown(exercise)}: {error.cause}") from error
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{shown(exercise)}: is not UTF-8 text") from error
    from grader.report.console import make_console, show
    from grader.report.difference import side_by_side as in_two_columns
    from grader.report.difference import unified

    solution = solution_source(lesson)
    if yours == solution:
        click.echo(f"{shown(exercise)} and the solution are the same, letter by letter.")
    elif side_by_side:
        show(in_two_columns(yours, solution, make_console().width))
    else:
        theirs = f"solutions/{lesson.path}.py"
        show(unified(yours, solution, shown(exercise), theirs, make_console().width))
