"""The tasks of a grading, examples and checks, and doing one of them in a session."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import msgspec
import pytest

from grader import checks, examples
from grader.examples import Docstring
from grader.handing import handed_in_as
from grader.lessons import Lesson
from grader.runner.failures import failure_of
from grader.runner.promises import promises_of
from grader.runner.search import CASES_AFTER_FAILURE, Search
from grader.runner.suite import Collection
from grader.showing import shown
from grader.verdict import (
    AnyFailure,
    Call,
    CheckResult,
    ExampleResult,
    LoadError,
    Outcome,
    Story,
    TimedOut,
)
from grader.worker import Call as Called
from grader.worker import Lesson as Submission
from grader.worker import Part, Session, WorkerError, names_called

Task: TypeAlias = "Loading | Examples | Checking"


@dataclass(frozen=True)
class Loading:
    """The task of finding out whether the submission loads and has all its public names."""

    lesson: Lesson
    stub: str
    name: str = "loading the submission"


@dataclass(frozen=True)
class Examples:
    """The task of running all examples of the stub: one task, as each takes next to nothing."""

    docstrings: tuple[Docstring, ...]
    name: str = "the examples"


@dataclass(frozen=True)
class Checking:
    """The task of running one check."""

    item: pytest.Function
    collection: Collection
    stub: str

    @property
    def name(self) -> str:
        return self.item.name

    @property
    def needs(self) -> tuple[str, ...]:
        return self.collection.check_of(self.item).needs


class Order(msgspec.Struct):
    """Do the task with this number, with so many seconds for one call.

    What is named in ``deadlines`` has that many. Once a case of a check has failed, so many more
    are run in search of a smaller one.
    """

    number: int
    deadline: float
    deadlines: dict[str, float] = {}
    cases_after_failure: int = CASES_AFTER_FAILURE


class Done(msgspec.Struct):
    """What came of a task, and what the submission printed.

    A check has its result, the examples theirs, loading a ``load_error`` if it failed. None of
    these, and ``broken``, where the grader itself failed.
    """

    number: int
    check: CheckResult | None = None
    examples: list[ExampleResult] = []
    load_error: LoadError | None = None
    printed: str = ""
    broken: str | None = None

    @property
    def passed(self) -> bool:
        went_well = not self.broken and not self.load_error
        return went_well and all(one.outcome == "passed" for one in self._results)

    @property
    def never_back(self) -> list[str]:
        """The names of what was called and did not come back in time."""
        late = [one.failure for one in self._results if isinstance(one.failure, TimedOut)]
        return [name for failure in late for name in names_called(failure.call)]

    @property
    def _results(self) -> list[CheckResult | ExampleResult]:
        return [*self.examples, *([self.check] if self.check else [])]


def tasks_of(stub: str, collection: Collection) -> list[Task]:
    """The stub's examples, if it has any, then the suite's checks in the order they stand."""
    checkings = [Checking(item, collection, stub) for item in collection.items]
    found = examples.docstrings(stub)
    return [Examples(found), *checkings] if found else [*checkings]


def perform(
    order: Order, task: Examples | Checking, session: Session, submission: Submission
) -> Done:
    """Do a task in a session in which the submission is loaded."""
    if isinstance(task, Examples):
        return Done(order.number, examples=list(_examples(task, session)))
    check = _check(task, session, submission, order.cases_after_failure)
    return Done(order.number, check=check)


def unloaded(number: int, task: Examples | Checking, error: WorkerError) -> Done:
    """What comes of a task when the submission, loaded before, did not load again."""
    failure = failure_of(error, Story())
    if isinstance(task, Examples):
        results = [ExampleResult(one.name, "failed", failure) for one in task.docstrings]
        return Done(number, examples=results)
    return Done(number, check=_result(task, failure=failure))


def blocked(task: Checking, by: list[str]) -> CheckResult:
    """The result of a check that is not run: what it needs did not pass."""
    result = _result(task)
    return msgspec.structs.replace(result, outcome="blocked", earned=0, blocked_by=by)


def _examples(task: Examples, session: Session) -> Iterator[ExampleResult]:
    timed_out = False
    for docstring in task.docstrings:
        if timed_out:  # the others would most likely keep the learner waiting as long
            yield ExampleResult(docstring.name, "blocked")
            continue
        result = examples.run(docstring, session)
        yield result
        timed_out = isinstance(result.failure, TimedOut)


def _check(
    task: Checking, session: Session, submission: Submission, cases_after_failure: int
) -> CheckResult:
    def judge(error: BaseException) -> AnyFailure | None:
        calls = session.calls
        return failure_of(error, story_of(calls), calls, promises_of(task.stub))

    search = Search(lambda: _begin_story(session), judge, cases_left=cases_after_failure)
    started = time.perf_counter()
    with handed_in_as(Part):
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


def _begin_story(session: Session) -> None:
    session.begin_story()
    checks.begin_story()


def story_of(calls: list[Called]) -> Story:
    """The story that calls of a session make, in the setting that the suite told."""
    told = [Call("  " * call.depth + call.text, _came_back(call)) for call in calls]
    return Story(checks.setting(), told)


def _came_back(call: Called) -> str:
    return call.outcome if call.error or call.assigned else shown(call.result)
