"""A forked process that does one task after another, each in a session of its own worker."""

import gc
import os
import signal
import traceback

import msgspec

from grader.runner.cores import stay_on
from grader.runner.loading import problem_with
from grader.runner.process import Channel
from grader.runner.tasks import Done, Loading, Order, Task, perform, unloaded
from grader.source import Source
from grader.worker import Worker, WorkerError
from grader.worker.processes import adopt_orphans, kill_children


def serve(
    channel: Channel,
    tasks: list[Task],
    worker: Worker,
    submission: Source,
    core: int | None = None,
) -> None:
    """Do the tasks that are ordered, until the channel closes; with a core given, on that one."""
    # Ctrl-C is the business of the process that ordered this one's tasks: it ends its seats.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What a submission leaves behind that ended its worker becomes this one's, and ends with it.
    adopt_orphans()
    if core is not None:
        stay_on(core, os.getpid(), *([worker.pid] if worker.pid else []))
    # It lives for a second or two: looking for garbage as often as usual costs more than it frees.
    gc.set_threshold(20_000)
    try:
        with worker:
            while True:
                order = msgspec.msgpack.decode(channel.receive(), type=Order)
                try:
                    done = _do(order, tasks[order.number], worker, submission)
                except Exception:
                    done = Done(order.number, broken=traceback.format_exc())
                channel.send(msgspec.msgpack.encode(done))
    finally:
        kill_children()


def _do(order: Order, task: Task, worker: Worker, submission: Source) -> Done:
    with worker.session(deadline=order.deadline) as session:
        session.deadlines = order.deadlines
        if isinstance(task, Loading):
            error = problem_with(session, submission, task.lesson, task.stub)
            return Done(order.number, load_error=error, printed=session.printed)
        try:
            lesson = session.load(submission, submission.name)
        except WorkerError as error:
            return unloaded(order.number, task, error)
        done = perform(order, task, session, lesson)
        return msgspec.structs.replace(done, printed=session.printed)
