"""The engine on a learner's own parts: those lessons that have passed and plug into it."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from grader.handing import handed_in_as
from grader.learner import Learner
from grader.lessons import Lesson as Files
from grader.runner.failures import failure_of, problem_of
from grader.runner.promises import promises_of
from grader.runner.tasks import story_of
from grader.standing import Standing, standings
from grader.stub import stub_of
from grader.verdict import Unusable
from grader.worker import Handle, Part, Session, Worker, WorkerError
from manifest.course import Lesson
from reference.engine import Parts, run_workload
from reference.trace import Trace
from reference.workload import Workload

# Seconds for one call on a part; a workload makes many calls.
DEADLINE = 5.0


class NoParts(Exception):
    """No lesson that plugs into the engine has passed as it is now.

    `edited` are those that had passed and were edited since, `first` is where to begin.
    """

    def __init__(self, edited: list[Lesson], first: Lesson) -> None:
        if edited:
            names = ", ".join(lesson.path for lesson in edited)
            were = "was" if len(edited) == 1 else "were"
            again = f"vllmlings grade {edited[0].name}"
            message = f"{names} {were} edited since passing; check again: {again}"
        else:
            message = (
                f"none of your parts has passed yet; {first.path} is the first that the engine "
                f"can run on: vllmlings watch {first.name}"
            )
        super().__init__(f"--mine: {message}")
        self.edited, self.first = edited, first


class PartFailed(Exception):
    """A learner's part failed while the engine ran on it; `cause` says in which call."""

    def __init__(self, parts: list[str], cause: str) -> None:
        super().__init__(f"the engine on your {', '.join(parts)}: {cause}")
        self.parts, self.cause = parts, cause


@dataclass(frozen=True)
class OwnParts:
    """The parts that the engine runs on, and those left out, as they were edited since passing."""

    passed: list[str]
    edited: list[str]


def run_on_own_parts(learner: Learner, workload: Workload) -> tuple[Trace, OwnParts]:
    """The trace of a workload on the learner's parts, and which parts those are.

    Raises:
        NoParts: there is none to run on.
        PartFailed: one of them raised, hung, died, or gave what the engine cannot use.
    """
    lessons, edited = _passed_and_edited(learner)
    names = [lesson.path for lesson in lessons]
    try:
        with (
            handed_in_as(_as_argument),
            Worker() as worker,
            worker.session(deadline=DEADLINE) as session,
        ):
            parts = Parts()
            for lesson in lessons:
                loaded = session.load(learner.places.exercise(lesson.path), lesson.name)
                parts = _install(lesson, parts, loaded)
            own = OwnParts(names, [lesson.path for lesson in edited])
            return _run(workload, parts, session, lessons), own
    except WorkerError as error:
        raise PartFailed(names, str(error)) from error


def _run(workload: Workload, parts: Parts, session: Session, lessons: Sequence[Lesson]) -> Trace:
    try:
        return run_workload(workload, parts)
    except Exception as error:  # on its own parts the engine raises nothing
        raise PartFailed([one.path for one in lessons], _cause(error, session, lessons)) from error


def _cause(error: Exception, session: Session, lessons: Sequence[Lesson]) -> str:
    calls = session.calls
    stubs = "\n".join(stub_of(Files(lesson.path)) for lesson in lessons)
    match failure_of(error, story_of(calls), calls, promises_of(stubs)):
        case Unusable(call=call, value=value, belongs=belongs) if belongs:
            return f"{call} returned {value}; {belongs} belongs there"
        case Unusable(call=call, problem=problem) if call:
            return f"what {call} gave cannot be used ({problem})"
    if isinstance(error, WorkerError):
        return str(error)
    return f"it cannot go on ({problem_of(error)})"


def _passed_and_edited(learner: Learner) -> tuple[list[Lesson], list[Lesson]]:
    all_standings = standings(learner.course, learner.progress, learner.places)
    pluggable = [s for s in all_standings if Files(s.lesson.path).parts.is_file()]
    passed = [s.lesson for s in pluggable if s.passed]
    edited = [s.lesson for s in pluggable if s.standing is Standing.PENDING]
    if not passed:
        raise NoParts(edited, pluggable[0].lesson)
    return passed, edited


def _install(lesson: Lesson, parts: Parts, loaded: Any) -> Parts:
    module = importlib.import_module(f"grader.parts.{lesson.topic}.{lesson.name}")
    installed: Parts = module.install(parts, loaded)
    return installed


def _as_argument(part: object, methods: tuple[str, ...]) -> object:
    """A part that lives in the worker already goes there as itself."""
    return part if isinstance(part, Handle) else Part(part, methods=methods)
