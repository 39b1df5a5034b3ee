"""Who does the grading: tasks go in, results come out, in any order.

Both are plain data, so that another machine can do it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Protocol

import msgspec

from grader.sandbox import Sandbox
from grader.verdict import GraderError, Verdict


class Task(msgspec.Struct, frozen=True):
    """Grade this source as a submission of the lesson.

    `key` names the task, `standard` is the digest of what it is graded by, which whoever does it
    must have, and `root` is where the lesson's files lie (None: where the package lies there).
    """

    key: str
    lesson: str
    source: bytes
    standard: str
    sandbox: Sandbox
    root: str | None = None


class Result(msgspec.Struct, frozen=True):
    """The verdict on the task with this key."""

    key: str
    verdict: Verdict


class ExecutorLost(Exception):
    """Whoever does the tasks is gone, with all that it was doing."""


class Executor(Protocol):
    """Does tasks. It may take a task ahead of time, but no more than it needs to stay busy.

    A task that fails for the executor's own reasons has a `grader_error` for its verdict.
    """

    def run(self, tasks: Iterable[Task]) -> Iterator[Result]: ...

    def close(self) -> None: ...

    def __enter__(self) -> Executor: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


def failed(task: Task, cause: str, detail: str = "") -> Result:
    """The result of a task that could not be done, which is not the submission's doing."""
    error = GraderError(cause, detail)
    return Result(task.key, Verdict(task.lesson, "grader_error", 0, 0, error=error))
