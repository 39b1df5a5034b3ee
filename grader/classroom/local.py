"""Grading on this machine: one desk for each core, each a process group of its own."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from types import TracebackType

import msgspec

from grader.classroom.executor import Result, Task, failed
from grader.runner.cores import cores
from grader.runner.process import Channel, Closed

# Far above what the limits of its calls and checks let one submission take.
LONGEST_TASK = 1200.0
_LOOK_EVERY = 1.0
_PATIENCE = 2.0


class DeskEnded(Exception):
    """A desk's process ended, or was ended, in the midst of a task."""


class HiredDesk:
    """A desk's process and the channel to it. One task at a time."""

    def __init__(self, core: int | None = None) -> None:
        ours, theirs = socket.socketpair()
        arguments = [str(theirs.fileno())] + ([] if core is None else [str(core)])
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "grader.classroom.desk", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                # Ctrl-C is the business of whoever hired it.
                start_new_session=True,
            )
        self._end = ours
        self.core = core
        self.channel = Channel(ours)
        self.task: Task | None = None
        self.since = 0.0

    def give(self, task: Task) -> None:
        """Have it do a task. A desk that has ended says so when the result is due."""
        self.task, self.since = task, time.monotonic()
        with contextlib.suppress(Closed):
            self.channel.send(msgspec.msgpack.encode(task))

    def result(self) -> Result:
        """Wait for the result.

        Raises:
            DeskEnded: there will be none.
        """
        try:
            result = msgspec.msgpack.decode(self.channel.receive(), type=Result)
        except Closed:
            raise DeskEnded from None
        self.task = None
        return result

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    @property
    def is_late(self) -> bool:
        return self.task is not None and time.monotonic() - self.since > LONGEST_TASK

    def dismiss(self) -> None:
        """End it; at once if it is in the midst of a task."""
        if self.task is None:
            # It sees the end of its socket, and cleans up.
            with contextlib.suppress(OSError):
                self._end.shutdown(socket.SHUT_WR)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_PATIENCE)
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self.channel.close()


class LocalExecutor:
    """Does tasks on this machine; `jobs` of them at a time, one for each core by default."""

    def __init__(self, jobs: int | None = None) -> None:
        there = cores()
        self._jobs = jobs or len(there)
        self._desks: list[HiredDesk] = []
        self._cores = there

    def run(self, tasks: Iterable[Task]) -> Iterator[Result]:
        """Do the tasks. One whose desk ends is tried once more, on a new desk."""
        waiting = iter(tasks)
        tried: set[str] = set()
        with selectors.DefaultSelector() as selector:
            for desk in self._desks:
                selector.register(desk.channel, selectors.EVENT_READ, desk)
            while True:
                self._give_out(waiting, selector)
                busy = [desk for desk in self._desks if desk.task]
                if not busy:
                    return
                ready = {key.data for key, _ in selector.select(_LOOK_EVERY)}
                for desk in busy:
                    if desk in ready or desk.has_ended or desk.is_late:
                        yield from self._finish(desk, selector, tried)

    def close(self) -> None:
        for desk in self._desks:
            desk.dismiss()
        self._desks.clear()

    def __enter__(self) -> LocalExecutor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _give_out(self, waiting: Iterator[Task], selector: selectors.BaseSelector) -> None:
        """A task for each desk that has none, and a new desk where there may be one more."""
        while True:
            idle = next((desk for desk in self._desks if desk.task is None), None)
            if idle is None and len(self._desks) == self._jobs:
                return
            task = next(waiting, None)
            if task is None:
                return
            (idle or self._hire(selector)).give(task)

    def _hire(self, selector: selectors.BaseSelector) -> HiredDesk:
        core = self._cores[len(self._desks) % len(self._cores)]
        return self._take_in(HiredDesk(core), selector)

    def _take_in(self, desk: HiredDesk, selector: selectors.BaseSelector) -> HiredDesk:
        self._desks.append(desk)
        selector.register(desk.channel, selectors.EVENT_READ, desk)
        return desk

    def _finish(
        self, desk: HiredDesk, selector: selectors.BaseSelector, tried: set[str]
    ) -> Iterator[Result]:
        task, is_late = desk.task, desk.is_late
        assert task is not None
        try:
            if not is_late:
                yield desk.result()
                return
        except DeskEnded:
            pass
        selector.unregister(desk.channel)
        desk.dismiss()
        self._desks.remove(desk)
        if is_late:
            yield failed(task, f"it was not done within {LONGEST_TASK:g} s")
        elif task.key in tried:
            yield failed(task, "the process that graded it ended, twice")
        else:
            tried.add(task.key)
            self._take_in(HiredDesk(desk.core), selector).give(task)
