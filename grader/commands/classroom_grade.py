"""`vllmlings classroom grade`: a verdict on everything that a class has handed in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.commands.classroom_common import COURSE, course_in, lesson_option, needs_extra
from grader.sandbox import Sandbox, SandboxMissing, choose

if TYPE_CHECKING:
    from grader.classroom.course import Course
    from grader.classroom.executor import Executor
    from grader.classroom.journal import Journal
    from grader.classroom.submissions import Collected


@click.command("grade")
@COURSE
@lesson_option
@click.option("--jobs", type=click.IntRange(1), help="Processes.  [default: one for each core]")
@click.option(
    "--executor",
    metavar="dask=ADDRESS",
    help="Have a Dask cluster do it, by its scheduler's address.",
)
@click.option("--regrade", is_flag=True, help="Grade anew what has a verdict already.")
@click.option(
    "--sandbox",
    type=click.Choice(["bubblewrap", "none"]),
    default="bubblewrap",
    show_default=True,
    help="With none, a submission may do whatever you may; every report then says so.",
)
@click.option("--db", "url", metavar="URL", help="The gradebook.  [default: COURSE/gradebook.db]")
@click.pass_context
def command(
    ctx: click.Context,
    folder: Path,
    names: tuple[str, ...],
    jobs: int | None,
    executor: str | None,
    regrade: bool,
    sandbox: Sandbox,
    url: str | None,
) -> None:
    """Grade what lies in COURSE/submitted, and write it into nbgrader's gradebook.

    A submission that has a verdict and has not changed, under a suite that has not changed, is
    not graded again: a run that was ended goes on where it was.

    Exit code: 0 all of it is graded, 1 something needs a person, 2 wrong use.
    """
    from grader.classroom.journal import JournalInUse, open_journal
    from grader.classroom.submissions import collect

    course = course_in(folder, names)
    with needs_extra("classroom"):
        from grader.classroom.database import GradebookError
        from grader.classroom.gradebook import write_gradebook
    if executor is None:
        _require(sandbox)
    collected = collect(course.submitted, course.lessons)
    try:
        with open_journal(course.journal) as journal:
            started = _executor(executor, jobs)
            need_a_person = _grade(course, collected, started, journal, sandbox, regrade)
            _tell_of_problems(course, collected, journal)
            entries = (journal.latest(each.student, each.lesson) for each in collected)
            write_gradebook(course, (entry for entry in entries if entry), url)
    except (JournalInUse, GradebookError, OSError) as error:
        raise click.ClickException(str(error)) from error
    ctx.exit(1 if need_a_person else 0)


def _require(sandbox: Sandbox) -> None:
    try:
        choose(sandbox)
    except SandboxMissing as error:
        raise click.ClickException(
            f"{error}; or give --sandbox none, and a submission can do whatever you can"
        ) from error


def _executor(executor: str | None, jobs: int | None) -> Callable[[], Executor]:
    if executor is None:
        from grader.classroom.local import LocalExecutor

        return lambda: LocalExecutor(jobs)
    kind, _, address = executor.partition("=")
    if kind != "dask" or not address:
        raise click.UsageError(f"--executor {executor}: give it as dask=tcp://HOST:PORT")
    with needs_extra("dask"):
        from grader.classroom.on_dask import DaskExecutor
    return lambda: DaskExecutor(address)


def _grade(
    course: Course,
    collected: Collected,
    start: Callable[[], Executor],
    journal: Journal,
    sandbox: Sandbox,
    regrade: bool,
) -> int:
    """Grade all of it; how many submissions need a person."""
    from grader.classroom.executor import ExecutorLost
    from grader.classroom.grading import grade_class
    from grader.report.classroom.table import graded_line
    from grader.report.console import show
    from grader.report.waiting import waiting

    click.echo(f"Grading {len(collected)} submissions of {len(collected.students)} students …")
    new = known = need_a_person = 0
    try:
        with start() as executor, waiting("Grading", estimates=True) as progress:
            for graded in grade_class(
                course, collected, executor, journal, sandbox, regrade, progress.advance
            ):
                new += graded.is_new
                known += not graded.is_new
                need_a_person += graded.entry.verdict.status == "grader_error"
    except ExecutorLost as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        done = f"{new + known} of {len(collected)} submissions have their verdict"
        click.echo(f"Stopped: {done}. The same command goes on from there.", err=True)
        raise
    show(graded_line(new, known, need_a_person))
    return need_a_person


def _tell_of_problems(course: Course, collected: Collected, journal: Journal) -> None:
    from grader.classroom.standings import ClassStandings
    from grader.report.classroom.table import problems_page
    from grader.report.console import show

    show(problems_page(ClassStandings(course, collected, journal)))
