"""The trusted process: collects a suite once, then grades each submission that it is sent."""

import contextlib
import os
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from grader.lessons import Lesson
from grader.runner.interpreter import Interpreter
from grader.runner.process import Channel, Closed, hold_interrupts
from grader.source import Source
from grader.stub import stub_of
from grader.verdict import GraderError, Verdict
from grader.worker import Worker
from grader.worker.processes import adopt_orphans, kill_children

Manner: TypeAlias = Literal["verdict", "trial", "first_failure"]


class Request(msgspec.Struct):
    """Grade this content of a file: for a learner, or in a trial (of all, or until it fails).

    The path is in bytes: not every name of a file is text.
    """

    path: bytes
    content: bytes
    manner: Manner = "verdict"


class Progress(msgspec.Struct, tag=True):
    """So many of so many tasks are done."""

    done: int
    total: int


class Judged(msgspec.Struct, tag=True):
    """The verdict on a request."""

    verdict: Verdict


Answer: TypeAlias = Progress | Judged


def serve(channel: Channel, lesson: Lesson, interpreter: Interpreter, jobs: int) -> None:
    """Grade one request after another, until the channel closes."""
    # A suite's own prints must not end up in what the command prints, which may be JSON.
    os.dup2(2, 1)
    hold_interrupts()
    # What a submission leaves behind that ended its worker and its seat: `Bench.close` ends it.
    adopt_orphans()
    bench = Bench(lesson, interpreter, jobs)
    try:
        _collect_and_serve(channel, bench)
    except (Closed, KeyboardInterrupt):
        return
    except Exception as error:
        failed = bench.failed(error)
        _answer_all(channel, lambda _: failed)
    finally:
        bench.close()


class Bench:
    """What gradings of a lesson need: its files, and workers started ahead of time."""

    def __init__(self, lesson: Lesson, interpreter: Interpreter, jobs: int) -> None:
        self.lesson = lesson
        self.stub = stub_of(lesson)
        self.interpreter, self._jobs = interpreter, jobs
        self.workers = self._started()

    def renew(self) -> None:
        """Put fresh workers in the place of used ones."""
        self.close()
        self.workers = self._started()

    def close(self) -> None:
        for worker in self.workers:
            worker.close()
        kill_children()

    def _started(self) -> list[Worker]:
        return [self.interpreter.start() for _ in range(self._jobs)]

    def failed(self, error: Exception) -> Verdict:
        """The verdict when the grader itself failed."""
        detail = getattr(error, "detail", "") or "".join(traceback.format_exception(error))
        cause = GraderError(str(error) or type(error).__name__, detail)
        return Verdict(self.lesson.name, "grader_error", 0, 0, error=cause)


def _collect_and_serve(channel: Channel, bench: Bench) -> None:
    # Imported with the workers already starting: it takes longer than they do.
    from grader.runner.examine import examine
    from grader.runner.suite import Collection, collect
    from grader.runner.trial import attempt

    def tell(done: int, total: int) -> None:
        channel.send(msgspec.msgpack.encode(Progress(done, total)))

    def grade_all(collection: Collection) -> None:
        def grade(request: Request) -> Verdict:
            submission = Source(Path(os.fsdecode(request.path)), request.content)
            try:
                if request.manner == "verdict":
                    return examine(
                        bench.lesson, bench.stub, collection, bench.workers, submission, tell
                    )
                return attempt(
                    bench.lesson,
                    bench.stub,
                    collection,
                    bench.workers[0],
                    bench.interpreter,
                    submission,
                    request.manner == "first_failure",
                    tell,
                )
            except Exception as error:
                return bench.failed(error)

        with contextlib.suppress(Closed):  # pytest would take it for a crash
            _answer_all(channel, grade, bench.renew)

    collect(bench.lesson.suite, bench.lesson.root, grade_all)


def _answer_all(
    channel: Channel,
    grade: Callable[[Request], Verdict],
    get_ready: Callable[[], None] = lambda: None,
) -> None:
    while True:
        request = msgspec.msgpack.decode(channel.receive(), type=Request)
        started = time.perf_counter()
        verdict = grade(request)
        verdict = msgspec.structs.replace(verdict, seconds=time.perf_counter() - started)
        channel.send(msgspec.msgpack.encode(Judged(verdict)))
        get_ready()
