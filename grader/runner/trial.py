"""A trial: one process does all tasks in the order they stand, whatever they need.

It is for those who want to know whether a submission fails, or at which checks, and not to tell a
learner about it: no failing case is made smaller.
"""

import functools
from collections.abc import Callable

import msgspec

from grader.lessons import Lesson
from grader.runner import seat
from grader.runner.dispatch import LONGEST_TASK, SeatFailed, received
from grader.runner.interpreter import Interpreter
from grader.runner.loading import problem_with
from grader.runner.process import Child, Closed, fork
from grader.runner.suite import Collection
from grader.runner.tasks import Done, Order, Task, tasks_of
from grader.source import Source
from grader.verdict import GraderError, Status, Verdict
from grader.worker import Worker

DEADLINE = 5.0


def attempt(
    lesson: Lesson,
    stub: str,
    collection: Collection,
    worker: Worker,
    interpreter: Interpreter,
    submission: Source,
    until_failure: bool,
    tell: Callable[[int, int], None],
) -> Verdict:
    """The verdict on a submission, of all tasks or of those up to the first that fails.

    Raises:
        SeatFailed: the grader itself failed.
    """
    if collection.problem:
        error = GraderError("the lesson's suite cannot be used", collection.problem)
        return Verdict(lesson.name, "grader_error", 0, 0, error=error)
    with worker.session(deadline=DEADLINE * interpreter.patience) as session:
        problem = problem_with(session, submission, lesson, stub)
        printed = session.printed
    max_points = sum(collection.check_of(item).points for item in collection.items)
    if problem:
        return Verdict(lesson.name, "cannot_load", 0, max_points, printed=printed, error=problem)
    tasks = tasks_of(stub, collection)
    child = fork(functools.partial(seat.serve, tasks=tasks, worker=worker, submission=submission))
    try:
        done = _done(child, tasks, interpreter.patience, until_failure, tell)
    except BaseException:
        child.kill()
        raise
    child.end()
    return _verdict(lesson, max_points, done)


def _done(
    child: Child,
    tasks: list[Task],
    patience: float,
    until_failure: bool,
    tell: Callable[[int, int], None],
) -> list[Done]:
    found: list[Done] = []
    for number, task in enumerate(tasks):
        order = Order(number, DEADLINE * patience, cases_after_failure=0)
        try:
            child.channel.send(msgspec.msgpack.encode(order))
        except Closed:
            raise SeatFailed(task.name, "its process ended") from None
        done = received(child, task.name, LONGEST_TASK * patience)
        found.append(done)
        tell(number, len(tasks))
        if until_failure and not done.passed:
            break
    return found


def _verdict(lesson: Lesson, max_points: int, done: list[Done]) -> Verdict:
    checks = [one.check for one in done if one.check]
    broken = next((check for check in checks if check.outcome == "error"), None)
    status: Status = "passed" if all(one.passed for one in done) else "failed"
    return Verdict(
        lesson=lesson.name,
        status="grader_error" if broken else status,
        points=sum(check.earned for check in checks),
        max_points=max_points,
        examples=[example for one in done for example in one.examples],
        checks=checks,
        error=GraderError(f"the check {broken.name} is broken", broken.error or "")
        if broken
        else None,
    )
