"""A workload served by two processes."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reference.engine import Parts
from reference.front import Front
from reference.llm_engine import check_servable
from reference.outputs import RequestOutput
from reference.workload import Workload

if TYPE_CHECKING:
    from grader.processes.core_client import CoreClient


class NoProcesses(Exception):
    """The two processes cannot be run, or one of them ended."""


@dataclass(frozen=True)
class ProcessesReport:
    """Who took part, what went over the sockets, and what the clients were shown."""

    front_pid: int
    core_pid: int
    messages: Mapping[str, int]
    num_bytes: Mapping[str, int]
    shown: Mapping[str, Sequence[RequestOutput]]


def run_in_processes(workload: Workload) -> ProcessesReport:
    """Serves a workload, the front in this process and the core in another.

    The core goes at its own pace, so that a request's arrival is no exact step: it is sent when
    the core has been heard so many times, or has nothing left to do.

    Raises:
        CannotServe: the front cannot run this workload.
        NoProcesses: ZMQ is not there, or the core has died.
    """
    check_servable(workload)
    try:
        from grader.processes.core_client import CoreClient, EngineDeadError
    except ModuleNotFoundError as error:
        raise NoProcesses("--processes needs pyzmq: pip install 'vllmlings[processes]'") from error
    try:
        with CoreClient(workload) as client:
            front = Front(workload, Parts(), client.add_request, client.abort_requests)
            _serve(workload, front, client)
            messages, num_bytes = Counter(client.messages), Counter(client.num_bytes)
            return ProcessesReport(
                os.getpid(), client.process.pid, messages, num_bytes, front.shown
            )
    except EngineDeadError as error:
        raise NoProcesses(str(error)) from error


def _serve(workload: Workload, front: Front, client: CoreClient) -> None:
    coming = deque(sorted(workload.requests, key=lambda request: request.arrival))
    leaving = deque(
        sorted((each.abort.step, each.id) for each in workload.requests if each.abort is not None)
    )
    resets = deque(sorted(workload.reset_prefix_cache))
    heard = 0
    while coming or front.num_unfinished:
        if coming and not front.num_unfinished:
            heard = max(heard, coming[0].arrival)
        while coming and coming[0].arrival <= heard:
            front.add_request(coming.popleft())
        while leaving and leaving[0][0] <= heard:
            front.abort(leaving.popleft()[1])
        while resets and resets[0] <= heard:
            resets.popleft()
            client.call_utility("reset_prefix_cache")
        if front.num_unfinished:
            front.take_in(client.get_output().outputs)
            heard += 1
