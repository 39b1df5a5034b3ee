"""`vllmlings classroom report`: a class's results for its teacher, its students and programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from grader.commands.classroom_common import COURSE, course_in, lesson_option, needs_extra

if TYPE_CHECKING:
    from grader.classroom.course import Course
    from grader.classroom.standings import ClassStandings
    from grader.report.classroom.words import Detail

Format = Literal["table", "statistics", "csv", "junit", "html", "markdown", "gradescope"]
FORMATS = ("table", "statistics", "csv", "junit", "html", "markdown", "gradescope")
_SUFFIXES = {"html": ".html", "markdown": ".md", "gradescope": ".json"}


@click.command("report")
@COURSE
@lesson_option
@click.option("--format", "form", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option("--student", metavar="NAME", help="Of this student alone.")
@click.option(
    "--detail",
    type=click.Choice(["none", "names", "stories"]),
    default="names",
    show_default=True,
    help="What is told of a check that failed: nothing, its name, its whole story.",
)
@click.option("--similar", is_flag=True, help="Pairs of submissions that are alike.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Write it to this file; or, of all students, a file each into this folder.",
)
def command(
    folder: Path,
    names: tuple[str, ...],
    form: Format,
    student: str | None,
    detail: Detail,
    similar: bool,
    out: Path | None,
) -> None:
    """Show what COURSE has come to, by the verdicts of `vllmlings classroom grade`.

    table and statistics are for you; csv for a spreadsheet; html and markdown are feedback to a
    student; junit and gradescope are for other programs.
    """
    from grader.classroom.standings import standings_of

    course = course_in(folder, names)
    if similar:
        _show_similar(course)
        return
    with standings_of(course) as standings:
        if student is not None:
            _narrow(standings, student)
        if form in ("table", "statistics"):
            _show(standings, form)
        elif form in _SUFFIXES:
            _feedback(standings, form, student, detail, out)
        else:
            _hand_out(_of_class(standings, form, detail), out)


def _narrow(standings: ClassStandings, student: str) -> None:
    if student not in standings.students:
        raise click.UsageError(f"--student {student}: there is no folder of this name in submitted")
    standings.students = (student,)


def _show(standings: ClassStandings, form: Format) -> None:
    from grader.report.console import show

    if form == "table":
        from grader.report.classroom.table import class_page

        show(class_page(standings))
        return
    from grader.classroom.tally import tally
    from grader.report.classroom.statistics import statistics_page

    tallies = [tally(lesson, standings.of_lesson(lesson)) for lesson in standings.lessons]
    show(statistics_page(tallies))


def _of_class(standings: ClassStandings, form: Format, detail: Detail) -> str:
    if form == "csv":
        from grader.report.classroom.spreadsheet import class_csv

        return class_csv(standings)
    from grader.report.classroom.junit import class_junit

    return class_junit(standings, detail)


def _feedback(
    standings: ClassStandings, form: Format, student: str | None, detail: Detail, out: Path | None
) -> None:
    """One student's to the output; all students' into a folder, a file each."""
    if student is not None:
        _hand_out(_of_student(standings, student, form, detail), out)
        return
    folder = out or standings.course.folder / "reports"
    for name in standings.students:
        _hand_out(_of_student(standings, name, form, detail), folder / f"{name}{_SUFFIXES[form]}")
    click.echo(f"{len(standings.students)} files are in {folder}")


def _of_student(standings: ClassStandings, student: str, form: Format, detail: Detail) -> str:
    found = standings.of_student(student)
    if form == "gradescope":
        from grader.report.classroom.gradescope import gradescope_results

        return gradescope_results(found, detail)
    from grader.report.classroom.student import student_html, student_markdown

    make = student_html if form == "html" else student_markdown
    return make(student, found, detail)


def _hand_out(content: str, out: Path | None) -> None:
    if out is None:
        click.echo(content, nl=False)
        return
    from grader.files import write_atomically

    try:
        write_atomically(out, content.encode())
    except OSError as error:
        raise click.ClickException(f"--out {out}: {error.strerror}") from error


def _show_similar(course: Course) -> None:
    from grader.classroom.submissions import collect
    from grader.report.classroom.table import similar_page
    from grader.report.console import show

    with needs_extra("classroom"):
        from grader.classroom.similar import similar_pairs
    pairs = []
    for lesson in course.lessons:
        collected = collect(course.submitted, (lesson,))
        pairs += similar_pairs(course.files_of(lesson), collected)
    show(similar_page(pairs))
