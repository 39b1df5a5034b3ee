"""A desk: a process of its own that does one task after another.

    python -m grader.classroom.desk DESCRIPTOR [CORE]

It keeps the suites of the lessons it has met collected. Each submission gets a worker of its own:
what a submission does to its worker ends with it. When whoever started the desk is gone, even in
the midst of a task, it ends with all its processes.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import socket
import sys
from collections import OrderedDict
from functools import cache
from pathlib import Path

import msgspec

from grader.cache import standard
from grader.classroom.executor import Result, Task, failed
from grader.lessons import ROOT, Lesson
from grader.runner.cores import stay_on
from grader.runner.interpreter import Interpreter
from grader.runner.process import Channel, Closed
from grader.runner.warm import WarmGrader
from grader.sandbox import SEALED, Sandbox, SandboxMissing, choose
from grader.source import Source
from grader.verdict import Verdict

# Each keeps a suite, Hypothesis and a fresh worker in memory.
WARM_SUITES = 3


def main(descriptor: int, core: int | None = None) -> None:
    """Do the tasks that come over a socket until it closes."""
    end = socket.socket(fileno=descriptor)
    channel = Channel(end)
    desk = Desk()
    if os.getpgid(0) == os.getpid():
        _end_with(end)
    if core is not None:
        stay_on(core, os.getpid())
    try:
        while True:
            task = msgspec.msgpack.decode(channel.receive(), type=Task)
            channel.send(msgspec.msgpack.encode(desk.do(task)))
    except (Closed, KeyboardInterrupt):
        desk.close()


class Desk:
    """Does tasks in this process, with a warm grader for each of the last few lessons."""

    def __init__(self) -> None:
        self._graders: OrderedDict[tuple[Lesson, Sandbox], WarmGrader] = OrderedDict()

    def do(self, task: Task) -> Result:
        """The task's verdict; a `grader_error` where this machine cannot give it."""
        lesson = Lesson(task.lesson, Path(task.root) if task.root else ROOT)
        try:
            if standard(lesson) != task.standard:
                return failed(task, "this machine has other suites, or another grader or Python")
            return Result(task.key, self._graded(task, lesson))
        except (SandboxMissing, OSError) as error:
            return failed(task, str(error))

    def close(self) -> None:
        for grader in self._graders.values():
            grader.close()
        self._graders.clear()

    def _graded(self, task: Task, lesson: Lesson) -> Verdict:
        # The file's name is the lesson's: nothing about the student is told to the submission.
        source = Source(Path(f"{lesson.name}.py"), task.source)
        return self._grader(lesson, task.sandbox).grade(source)

    def _grader(self, lesson: Lesson, sandbox: Sandbox) -> WarmGrader:
        key = (lesson, sandbox)
        if key not in self._graders:
            self._graders[key] = WarmGrader(lesson, _interpreter(sandbox), jobs=1)
            if len(self._graders) > WARM_SUITES:
                _, oldest = self._graders.popitem(last=False)
                oldest.close()
        self._graders.move_to_end(key)
        return self._graders[key]


@cache
def _interpreter(sandbox: Sandbox) -> Interpreter:
    return Interpreter(launcher=choose(sandbox), limits=SEALED)


def _end_with(end: socket.socket) -> None:
    """End this process's whole group as soon as the other end of the socket is closed."""

    def look(_number: int, _frame: object) -> None:
        poll = select.poll()
        poll.register(end, select.POLLHUP)
        if any(event & select.POLLHUP for _, event in poll.poll(0)):
            os.killpg(os.getpgid(0), signal.SIGKILL)

    signal.signal(signal.SIGIO, look)
    fcntl.fcntl(end, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(end, fcntl.F_SETFL, fcntl.fcntl(end, fcntl.F_GETFL) | os.O_ASYNC)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
