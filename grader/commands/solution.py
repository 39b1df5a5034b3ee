"""`vllmlings solution`: the lesson's own answer, after a pass."""

from __future__ import annotations

import sys

import click

from grader.commands.common import LESSON, the_learner
from grader.learner import Learner
from grader.lessons import Lesson as Files
from manifest.course import Lesson


@click.command("solution")
@click.argument("lesson", type=LESSON)
@click.option("--reveal", is_flag=True, help="Show it before you have passed.")
def command(lesson: Lesson, reveal: bool) -> None:
    """The solution of LESSON, once you have passed it."""
    require_pass(the_learner(), lesson, reveal, "solution")
    source = solution_source(lesson)
    if not sys.stdout.isatty():
        click.echo(source, nl=False)
        return
    from rich.syntax import Syntax

    from grader.report.console import make_console

    console = make_console()
    with console.capture() as captured:
        console.print(
            Syntax(source, "python", theme="ansi_dark", background_color="default", word_wrap=True)
        )
    click.echo_via_pager(captured.get())


def require_pass(learner: Learner, lesson: Lesson, reveal: bool, command_name: str) -> None:
    """Refuse, in one line, to show a solution to somebody who has neither passed nor asked."""
    if reveal or learner.progress.of(lesson.path).ever_passed:
        return
    raise click.ClickException(
        f"{lesson.path}: you have not passed this lesson yet; try `vllmlings hint {lesson.name}`, "
        f"or `vllmlings {command_name} {lesson.name} --reveal`"
    )


def solution_source(lesson: Lesson) -> str:
    """The solution without the marks that its stub is cut at."""
    from grader.stub import BEGIN, END

    source = Files(lesson.path).solution.read_text(encoding="utf-8")
    lines = source.splitlines(keepends=True)
    return "".join(line for line in lines if not line.strip().startswith((BEGIN, END)))
