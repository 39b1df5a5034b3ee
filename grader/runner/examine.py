"""One grading of one submission, from loading it to the verdict."""

import functools
from collections.abc import Callable
from pathlib import Path

from grader.lessons import Lesson
from grader.runner import seat
from grader.runner.dispatch import Dispatch
from grader.runner.loading import problem_with
from grader.runner.suite import Collection
from grader.runner.tasks import Done, tasks_of
from grader.verdict import CheckResult, GraderError, Status, Verdict
from grader.worker import Worker

LONGEST_PRINTED = 20_000


def examine(
    lesson: Lesson,
    stub: str,
    collection: Collection,
    workers: list[Worker],
    submission: Path,
    tell: Callable[[int, int], None],
) -> Verdict:
    """Grade a submission with as many processes as there are workers.

    Raises:
        SeatFailed: the grader itself failed.
    """
    if collection.problem:
        error = GraderError("the lesson's suite cannot be used", collection.problem)
        return Verdict(lesson.name, "grader_error", 0, 0, error=error)
    max_points = sum(collection.check_of(item).points for item in collection.items)
    with workers[0].session() as session:
        problem = problem_with(session, submission, lesson, stub)
        printed = session.printed
    if problem:
        return Verdict(lesson.name, "cannot_load", 0, max_points, printed=printed, error=problem)
    tasks = tasks_of(stub, collection)
    serves = [
        functools.partial(seat.serve, tasks=tasks, worker=worker, submission=submission)
        for worker in workers
    ]
    return _verdict(lesson, max_points, Dispatch(tasks, tell).run(serves))


def _verdict(lesson: Lesson, max_points: int, done: list[Done]) -> Verdict:
    checks = [result.check for result in done if result.check]
    examples = [result.example for result in done if result.example]
    broken = next((check for check in checks if check.outcome == "error"), None)
    status: Status = "passed" if all(result.passed for result in done) else "failed"
    return Verdict(
        lesson=lesson.name,
        status="grader_error" if broken else status,
        points=sum(check.earned for check in checks),
        max_points=max_points,
        examples=examples,
        checks=checks,
        printed="".join(result.printed for result in done)[:LONGEST_PRINTED],
        error=_of_suite(broken) if broken else None,
    )


def _of_suite(broken: CheckResult) -> GraderError:
    return GraderError(
        f"the check {broken.name} of the lesson's suite is broken", broken.error or ""
    )
