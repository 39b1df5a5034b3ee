"""The engine on a learner's own parts: those lessons that have passed and plug into it."""

from __future__ import annotations

import importlib
from typing import Any

from grader.handing import handed_in_as
from grader.learner import Learner
from grader.lessons import Lesson as Files
from grader.places import shown
from grader.standing import standings
from grader.worker import Handle, Part, Worker, WorkerError
from manifest.course import Lesson
from reference.engine import Parts, run_workload
from reference.trace import Trace
from reference.workload import Workload

# Seconds for one call on a part; a workload makes many calls.
DEADLINE = 5.0


class NoParts(Exception):
    """No lesson that plugs into the engine has passed."""

    def __init__(self, possible: list[str]) -> None:
        super().__init__(
            "--mine: none of your parts has passed yet; the engine can run on "
            + ", ".join(possible)
        )
        self.possible = possible


class PartFailed(Exception):
    """A learner's part failed while the engine ran on it; `cause` says in which call."""

    def __init__(self, parts: list[str], cause: str) -> None:
        super().__init__(f"the engine on your {', '.join(parts)}: {cause}")
        self.parts, self.cause = parts, cause


def run_on_own_parts(learner: Learner, workload: Workload) -> tuple[Trace, list[str]]:
    """The trace of a workload on the learner's parts, and the names of those parts.

    Raises:
        NoParts: there is none to run on.
        PartFailed: one of them raised, hung or died.
    """
    lessons = _passed_parts(learner)
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
            return run_workload(workload, parts), names
    except WorkerError as error:
        raise PartFailed(names, str(error)) from error


def _passed_parts(learner: Learner) -> list[Lesson]:
    all_standings = standings(learner.course, learner.progress, learner.places)
    pluggable = [s for s in all_standings if Files(s.lesson.path).parts.is_file()]
    passed = [s.lesson for s in pluggable if s.passed]
    if not passed:
        raise NoParts(
            [
                f"{s.lesson.path} ({shown(learner.places.exercise(s.lesson.path))})"
                for s in pluggable
            ]
        )
    return passed


def _install(lesson: Lesson, parts: Parts, loaded: Any) -> Parts:
    module = importlib.import_module(f"grader.parts.{lesson.topic}.{lesson.name}")
    installed: Parts = module.install(parts, loaded)
    return installed


def _as_argument(part: object, methods: tuple[str, ...]) -> object:
    """A part that lives in the worker already goes there as itself."""
    return part if isinstance(part, Handle) else Part(part, methods=methods)
