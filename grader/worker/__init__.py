"""Run a submission in a process of its own and speak with it in plain data.

    with Worker() as worker, worker.session(deadline=5.0) as session:
        lesson = session.load(path, "block_pool")
        pool = lesson.BlockPool(8)
        pool.get_new_blocks(3)  # [1, 2, 3], as plain builtins

Nothing that a submission does reaches the process that judges it: what goes wrong is one of the
errors in `grader.worker.errors`.
"""

from grader.worker.errors import (
    CallTimedOut,
    LoadFailed,
    OutOfMemory,
    ProtocolViolation,
    SubmissionRaised,
    Unusable,
    WorkerDied,
    WorkerError,
)
from grader.worker.host import Worker, WorkerNotStarted
from grader.worker.launcher import BareLauncher, Launcher
from grader.worker.lesson import Handle, Lesson, as_record
from grader.worker.limits import Limits
from grader.worker.part import Part
from grader.worker.record import Opaque, Record
from grader.worker.session import ExampleResult, Session
from grader.worker.story import Call, names_called

__all__ = [
    "BareLauncher",
    "Call",
    "CallTimedOut",
    "ExampleResult",
    "Handle",
    "Launcher",
    "Lesson",
    "Limits",
    "LoadFailed",
    "Opaque",
    "OutOfMemory",
    "Part",
    "ProtocolViolation",
    "Record",
    "Session",
    "SubmissionRaised",
    "Unusable",
    "Worker",
    "WorkerDied",
    "WorkerError",
    "WorkerNotStarted",
    "as_record",
    "names_called",
]
