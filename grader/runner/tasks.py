"""The tasks of a grading, docstrings and checks, and running one of them in a session."""

import time
from dataclasses import dataclass
from typing import TypeAlias

import msgspec
import pytest

from grader import checks, examples
from grader.examples import Docstring
from grader.handing import hand_in_as
from grader.runner.failures import failure_of
from grader.runner.search import CASES_AFTER_FAILURE, Search
from grader.runner.showing import shown
from grader.runner.suite import Collection
from grader.verdict import AnyFailure, Call, CheckResult, ExampleResult, Outcome, Story, TimedOut
from grader.worker import Call as Called
from grader.worker import Lesson as Submission
from grader.worker import Part, Session, WorkerError

Task: TypeAlias = "Docstring | Checking"


@dataclass(frozen=True)
class Checking:
    """The task of running one check."""

    item: pytest.Function
    collection: Collection

    @property
    def name(self) -> str:
        return self.item.name

    @property
    def needs(self) -> tuple[str, ...]:
        return self.collection.check_of(self.item).needs


class Order(msgspec.Struct):
    """Do the task with this number, with so many seconds for one call.

    Once a case of a check has failed, so many more are run in search of a smaller one.
    """

    number: int
    deadline: float
    cases_after_failure: int = CASES_AFTER_FAILURE


class Done(msgspec.Struct):
    """What came of a task: ``check`` or ``example``, and what the submission printed.

    Neither, and ``broken``, where the grader itself failed.
    """

    number: int
    check: CheckResult | None = None
    example: ExampleResult | None = None
    printed: str = ""
    broken: str | None = None

    @property
    def passed(self) -> bool:
        result = self.check or self.example
        return result is not None and result.outcome == "passed"

    @property
    def timed_out(self) -> bool:
        result = self.check or self.example
        return result is not None and isinstance(result.failure, TimedOut)


def tasks_of(stub: str, collection: Collection) -> list[Task]:
    """The stub's docstrings, then the suite's checks, in the order they stand."""
    checkings = [Checking(item, collection) for item in collection.items]
    return [*examples.docstrings(stub), *checkings]


def perform(order: Order, task: Task, session: Session, submission: Submission) -> Done:
    """Do a task in a session in which the submission is loaded."""
    if isinstance(task, Docstring):
        return Done(order.number, example=_example(task, session))
    check = _check(task, session, submission, order.cases_after_failure)
    return Done(order.number, check=check)


def unloaded(number: int, task: Task, error: WorkerError) -> Done:
    """What comes of a task when the submission, loaded before, did not load again."""
    failure = failure_of(error, Story())
    if isinstance(task, Docstring):
        return Done(number, example=ExampleResult(task.name, "failed", failure))
    return Done(number, check=_result(task, failure=failure))


def blocked(task: Checking, by: list[str]) -> CheckResult:
    """The result of a check that is not run: what it needs did not pass."""
    result = _result(task)
    return msgspec.structs.replace(result, outcome="blocked", earned=0, blocked_by=by)


def _example(task: Docstring, session: Session) -> ExampleResult:
    try:
        return examples.run(task, session)
    except WorkerError as error:
        return ExampleResult(task.name, "failed", failure_of(error, _story_of(session)))


def _check(
    task: Checking, session: Session, submission: Submission, cases_after_failure: int
) -> CheckResult:
    def begin() -> None:
        session.begin_story()
        checks.begin_story()

    hand_in_as(Part)
    search = Search(begin, lambda: _story_of(session), cases_left=cases_after_failure)
    started = time.perf_counter()
    problem = task.collection.run_check(task.item, submission, search.run)
    result = _result(task, search.failure, search.broken or problem)
    return msgspec.structs.replace(result, seconds=time.perf_counter() - started)


def _result(
    task: Checking, failure: AnyFailure | None = None, broken: str | None = None
) -> CheckResult:
    check = task.collection.check_of(task.item)
    title = (task.item.function.__doc__ or task.name).strip().splitlines()[0]
    outcome: Outcome = "error" if broken else "failed" if failure else "passed"
    return CheckResult(
        name=task.name,
        title=title,
        points=check.points,
        earned=check.points if outcome == "passed" else 0,
        outcome=outcome,
        rule=check.rule,
        failure=failure,
        error=broken,
    )


def _story_of(session: Session) -> Story:
    calls = [Call("  " * call.depth + call.text, _came_back(call)) for call in session.calls]
    return Story(checks.setting(), calls)


def _came_back(call: Called) -> str:
    return call.outcome if call.error or call.assigned else shown(call.result)
