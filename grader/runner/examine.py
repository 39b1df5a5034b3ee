"""One grading of one submission, from loading it to the verdict."""

import functools
import itertools
from collections.abc import Callable
from graphlib import TopologicalSorter

import msgspec

from grader.lessons import Lesson
from grader.runner import seat
from grader.runner.cores import cores
from grader.runner.dispatch import Dispatch, NotLoaded
from grader.runner.suite import Collection
from grader.runner.tasks import Checking, Done, Loading, Task, blocked, tasks_of
from grader.source import Source
from grader.verdict import CheckResult, GraderError, Status, Verdict
from grader.worker import Worker

LONGEST_PRINTED = 20_000


def examine(
    lesson: Lesson,
    stub: str,
    collection: Collection,
    workers: list[Worker],
    submission: Source,
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
    tasks = [Loading(lesson, stub), *tasks_of(stub, collection)]
    serve = functools.partial(seat.serve, tasks=tasks, submission=submission)
    serves = [
        functools.partial(serve, worker=worker, core=core)
        for worker, core in zip(workers, itertools.cycle(cores()), strict=False)
    ]
    try:
        done = Dispatch(tasks, tell).run(serves)
    except NotLoaded as found:
        verdict = Verdict(lesson.name, "cannot_load", 0, max_points, error=found.error)
        return msgspec.structs.replace(verdict, printed=found.printed[:LONGEST_PRINTED])
    return _verdict(lesson, max_points, tasks, done)


def _verdict(lesson: Lesson, max_points: int, tasks: list[Task], done: list[Done]) -> Verdict:
    checks = _with_blocked([result.check for result in done if result.check], tasks)
    examples = [example for result in done for example in result.examples]
    broken = next((check for check in checks if check.outcome == "error"), None)
    outcomes = {check.outcome for check in checks} | {example.outcome for example in examples}
    status: Status = "passed" if outcomes <= {"passed"} else "failed"
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


def _with_blocked(checks: list[CheckResult], tasks: list[Task]) -> list[CheckResult]:
    """The results, where whatever has a need that did not pass is blocked.

    Which checks were run before their needs failed is chance; what is told of them must not be.
    """
    results = {check.name: check for check in checks}
    for task in _needs_first([task for task in tasks if isinstance(task, Checking)]):
        failed = [need for need in task.needs if results[need].outcome != "passed"]
        if failed and results[task.name].outcome != "error":
            results[task.name] = blocked(task, failed)
    return list(results.values())


def _needs_first(tasks: list[Checking]) -> list[Checking]:
    sorter = TopologicalSorter({task.name: task.needs for task in tasks})
    by_name = {task.name: task for task in tasks}
    return [by_name[name] for name in sorter.static_order()]


def _of_suite(broken: CheckResult) -> GraderError:
    return GraderError(
        f"the check {broken.name} of the lesson's suite is broken", broken.error or ""
    )
