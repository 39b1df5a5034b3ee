"""Grading on a Dask cluster that is there: each of its workers keeps desks for its threads.

A task and its result travel as bytes. A task whose worker is lost is given to another one, by
Dask itself. Each machine of the cluster needs this course installed, with the same suites.
"""

from __future__ import annotations

import contextlib
import itertools
import queue
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any

import distributed
import msgspec
from distributed.client import FutureCancelledError

from grader.classroom.executor import ExecutorLost, Result, Task, failed
from grader.classroom.local import DeskEnded, HiredDesk

# So many tasks for each thread of the cluster are given out ahead of time.
AHEAD = 2
_CONNECT_SECONDS = 10

# Half of it has types.
_dask: Any = distributed
_idle: queue.LifoQueue[HiredDesk] = queue.LifoQueue()


class ClusterLost(ExecutorLost):
    """The cluster cannot be reached, or is gone; what is graded is in the journal."""

    def __init__(self, address: str, cause: str) -> None:
        super().__init__(
            f"the Dask cluster at {address}: {cause}; every verdict so far is in the journal: "
            "start the cluster, and run the same command again"
        )
        self.address, self.cause = address, cause


class DaskExecutor:
    """Does tasks on the cluster whose scheduler is at an address (`tcp://host:8786`).

    Raises:
        ClusterLost: nobody answers there.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        try:
            self._client = _dask.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ClusterLost(address, str(error)) from None
        self._tasks: dict[str, tuple[Any, Task]] = {}

    def run(self, tasks: Iterable[Task]) -> Iterator[Result]:
        """Do the tasks.

        Raises:
            ClusterLost: the scheduler is gone.
        """
        waiting = iter(tasks)
        completed = _dask.as_completed(loop=self._client.loop)
        self._give_out(waiting, completed)
        for future in completed:
            _, task = self._tasks.pop(future.key)
            result = self._result(future, task)
            future.release()
            self._give_out(waiting, completed)
            yield result

    def close(self) -> None:
        """Take back what has not been done."""
        with contextlib.suppress(Exception):  # a cluster that is gone needs no farewell
            self._client.cancel([future for future, _ in self._tasks.values()], force=True)
        self._client.close()

    def __enter__(self) -> DaskExecutor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _give_out(self, waiting: Iterator[Task], completed: Any) -> None:
        threads = sum(worker["nthreads"] for worker in self._workers().values())
        room = max(1, threads) * AHEAD - len(self._tasks)
        for task in itertools.islice(waiting, max(0, room)):
            data = msgspec.msgpack.encode(task)
            future = self._client.submit(grade_here, data, pure=False)
            self._tasks[future.key] = (future, task)
            completed.add(future)

    def _workers(self) -> dict[str, Any]:
        workers: dict[str, Any] = self._client.scheduler_info(n_workers=-1)["workers"]
        return workers

    def _result(self, future: Any, task: Task) -> Result:
        try:
            data: bytes = future.result()
        except FutureCancelledError as error:
            raise ClusterLost(self._address, str(error)) from None
        except Exception as error:
            # Of a worker: it lacks this course, or too many were lost with this very task.
            return failed(task, f"on the cluster: {type(error).__name__}: {error}")
        return msgspec.msgpack.decode(data, type=Result)


def grade_here(data: bytes) -> bytes:
    """Do a task on a desk of this process: what a worker of the cluster runs."""
    task = msgspec.msgpack.decode(data, type=Task)
    return msgspec.msgpack.encode(_done(task))


def _done(task: Task) -> Result:
    for _ in range(2):
        try:
            desk = _idle.get_nowait()
        except queue.Empty:
            desk = HiredDesk()
        desk.give(task)
        try:
            result = desk.result()
        except DeskEnded:
            desk.dismiss()
        else:
            _idle.put(desk)
            return result
    return failed(task, "the process that graded it ended, twice")
