"""`vllmlings grade`: the verdict on an exercise, a topic or everything."""

from __future__ import annotations

from pathlib import Path

import click

from grader.commands.common import lessons_named, the_learner
from grader.grading import grade_lesson
from grader.learner import Learner
from grader.lessons import Lesson as Files
from manifest.course import Lesson


@click.command("grade")
@click.argument("name", metavar="[LESSON|TOPIC]", required=False)
@click.option("--all", "everything", is_flag=True, help="Every lesson that is written.")
@click.option(
    "--submission",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Grade this file in place of the exercise; your progress is left alone.",
)
@click.option("--json", "as_json", is_flag=True, help="The verdict as JSON; a list of several.")
@click.option("--fresh", is_flag=True, help="Grade anew, whatever verdict is remembered.")
@click.option("--full", is_flag=True, help="List every check; tell each failed one's whole story.")
@click.pass_context
def command(
    ctx: click.Context,
    name: str | None,
    everything: bool,
    submission: Path | None,
    as_json: bool,
    fresh: bool,
    full: bool,
) -> None:
    """Check LESSON (or all of a TOPIC, or the next lesson) and show the verdict.

    Exit code: 0 passed, 1 not passed, 2 wrong use.
    """
    learner = the_learner()
    lessons = _chosen(learner, name, everything)
    if submission is not None and len(lessons) != 1:
        raise click.UsageError("--submission: name one lesson that this file is for")
    if as_json:
        passed = _as_json(learner, lessons, submission, fresh)
    elif len(lessons) > 1:
        passed = _summary(learner, lessons, fresh)
    else:
        passed = _page(learner, lessons[0], submission, fresh, full)
    ctx.exit(0 if passed else 1)


def _chosen(learner: Learner, name: str | None, everything: bool) -> tuple[Lesson, ...]:
    if everything and name is not None:
        raise click.UsageError(f"--all and {name}: give one of them")
    if everything:
        return learner.course.written
    return lessons_named(name) if name is not None else (learner.lesson_or_next(None),)


def _page(
    learner: Learner, lesson: Lesson, submission: Path | None, fresh: bool, full: bool
) -> bool:
    click.echo(f"Checking {lesson.path} …")
    from grader.report.waiting import waiting

    with waiting(f"Checking {lesson.name}") as progress:
        verdict = grade_lesson(learner, lesson, submission, fresh, progress.advance)
    from grader.report.console import make_console, show
    from grader.report.next_steps import after_grading
    from grader.report.verdict import verdict_page

    following = learner.lesson_after(lesson) if verdict.status == "passed" else None
    show(
        verdict_page(
            verdict,
            submission or learner.places.exercise(lesson.path),
            make_console().width,
            full,
            then=after_grading(verdict, lesson, following, Files(lesson.path).workload),
        )
    )
    return verdict.status == "passed"


def _summary(learner: Learner, lessons: tuple[Lesson, ...], fresh: bool) -> bool:
    from grader.report.console import show
    from grader.report.summary import summary_line, summary_sum
    from grader.report.waiting import waiting

    click.echo(f"Checking {len(lessons)} lessons …")
    verdicts = []
    width = max(len(lesson.path) for lesson in lessons)
    for lesson in lessons:
        with waiting(f"Checking {lesson.name}") as progress:
            verdict = grade_lesson(learner, lesson, None, fresh, progress.advance)
        verdicts.append(verdict)
        show(summary_line(verdict, width))
    show(summary_sum(verdicts))
    return all(verdict.status == "passed" for verdict in verdicts)


def _as_json(
    learner: Learner, lessons: tuple[Lesson, ...], submission: Path | None, fresh: bool
) -> bool:
    import msgspec

    verdicts = [grade_lesson(learner, lesson, submission, fresh) for lesson in lessons]
    content = msgspec.json.encode(verdicts[0] if len(lessons) == 1 else verdicts)
    click.echo(msgspec.json.format(content).decode())
    return all(verdict.status == "passed" for verdict in verdicts)
