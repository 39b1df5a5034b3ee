"""`vllmlings demo`: a verdict with a story, a pass, and the engine at work."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from grader.commands.common import the_learner
from grader.learner import Learner
from grader.lessons import Lesson as Files
from grader.workloads import read_workload
from manifest.course import Lesson

LESSON_PATH = "kv_cache/block_pool"
WORKLOAD = "first_steps"

# The line of the solution that is wrong in the half-right one, and what stands there instead;
# neither is shown, since the exercise is the learner's to solve.
RIGHT = "            self._ref_cnt[block_id] += 1\n"
WRONG = "                self._ref_cnt[block_id] += 1\n"


@click.command("demo")
@click.pass_context
def command(ctx: click.Context) -> None:
    """A half-right exercise, the right one, and the engine. Nothing of yours is touched."""
    from grader.report.console import show
    from grader.report.demo import closing, first_step, second_step, third_step

    learner = the_learner()
    lesson = learner.course.lesson(LESSON_PATH)
    solution = Files(LESSON_PATH).solution.read_text(encoding="utf-8")
    show(first_step())
    half_right_fails = not _graded(lesson, half_right(solution))
    show(second_step())
    right_passes = _graded(lesson, solution)
    show(third_step(WORKLOAD))
    _run_engine(learner)
    show(closing(lesson, _next(learner)))
    ctx.exit(0 if half_right_fails and right_passes else 1)


def half_right(solution: str) -> str:
    """The block pool with one instructive mistake: only a free block gets a user when touched."""
    if solution.count(RIGHT) != 1:
        raise ValueError(f"solutions/{LESSON_PATH}.py: the line to spoil is not there once")
    return solution.replace(RIGHT, WRONG)


def _next(learner: Learner) -> Lesson | None:
    """The lesson that bare `vllmlings` names."""
    from grader.standing import next_lesson, standings

    return next_lesson(standings(learner.course, learner.progress, learner.places))


def _graded(lesson: Lesson, source: str) -> bool:
    from grader.report.console import make_console, show
    from grader.report.verdict import verdict_page
    from grader.report.waiting import waiting

    click.echo(f"Checking {lesson.path} …")
    with tempfile.TemporaryDirectory(prefix="vllmlings-demo-") as folder:
        submission = Path(folder, f"{lesson.name}.py")
        submission.write_text(source, encoding="utf-8")
        with waiting(f"Checking {lesson.name}") as progress:
            from grader.runner import grade

            verdict = grade(lesson.path, submission, tell=progress.advance)
    show(verdict_page(verdict, submission, make_console().width))
    return verdict.status == "passed"


def _run_engine(learner: Learner) -> None:
    from grader.report.console import make_console, show
    from grader.report.engine import engine_page
    from reference.engine import run_workload

    workload = read_workload(learner.places.workloads / f"{WORKLOAD}.yaml")
    trace = run_workload(workload)
    show(engine_page(workload, trace, None, make_console().width, len(trace.steps)))
