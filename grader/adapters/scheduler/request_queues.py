"""vLLM's own request queues and its scheduler's admission pass behind the lesson's interface."""

import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

from vllm.sampling_params import SamplingParams
from vllm.v1.core.sched import request_queue
from vllm.v1.request import Request, RequestStatus

import grader

sys.path.append(str(Path(__file__).parents[3]))
grader.__path__.append(str(Path(__file__).parents[2]))
kit = import_module("grader.adapters.kit")

PRELOAD = ("vllm.v1.core.sched.request_queue", "vllm.v1.core.sched.scheduler")

Entry = tuple[str, int, float]
PARAMS = SamplingParams(max_tokens=9)


def request_of(entry: Entry) -> Request:
    request_id, priority, arrival_time = entry
    request = kit.request_of(request_id, 1, PARAMS)
    request.priority, request.arrival_time = priority, arrival_time
    return request


class Queue:
    """One of vLLM's queues, which hold requests and not ids."""

    def __init__(self, policy: str) -> None:
        self._queue = request_queue.create_request_queue(request_queue.SchedulingPolicy(policy))
        self._requests: dict[str, Request] = {}

    def _known(self, entry: Entry) -> Request:
        request = self._requests[entry[0]] = request_of(entry)
        return request

    def _named(self, request_id: str) -> Request:
        return self._requests.get(request_id) or request_of((request_id, 0, 0.0))

    def add_request(self, entry: Entry) -> None:
        self._queue.add_request(self._known(entry))

    def pop_request(self) -> str:
        request_id: str = self._queue.pop_request().request_id
        return request_id

    def peek_request(self) -> str:
        request_id: str = self._queue.peek_request().request_id
        return request_id

    def prepend_request(self, entry: Entry) -> None:
        self._queue.prepend_request(self._known(entry))

    def prepend_requests(self, entries: list[Entry]) -> None:
        # vLLM takes them from another queue, in the order in which that one gives them.
        others = request_queue.FCFSRequestQueue(self._known(entry) for entry in entries)
        self._queue.prepend_requests(others)

    def remove_request(self, request_id: str) -> None:
        self._queue.remove_request(self._named(request_id))

    def remove_requests(self, request_ids: list[str]) -> None:
        self._queue.remove_requests([self._named(request_id) for request_id in request_ids])

    def order(self) -> list[str]:
        return [request.request_id for request in self._queue]

    def size(self) -> int:
        return len(self._queue)


class FCFSRequestQueue(Queue):
    def __init__(self) -> None:
        super().__init__("fcfs")


class PriorityRequestQueue(Queue):
    def __init__(self) -> None:
        super().__init__("priority")


def create_request_queue(policy: str) -> Queue:
    return Queue(policy)


class WaitingQueues:
    """vLLM's `Scheduler`: a pass is a step, and what it admits goes on running."""

    def __init__(self, policy: str) -> None:
        limits = {"num_gpu_blocks": 64, "max_model_len": 512, "enable_prefix_caching": False}
        self._scheduler = kit.scheduler_of(policy=policy, **limits)

    def add_request(self, entry: Entry, blocked: bool = False) -> None:
        request = request_of(entry)
        if blocked:
            request.status = RequestStatus.WAITING_FOR_STRUCTURED_OUTPUT_GRAMMAR
            request.structured_output_request = SimpleNamespace(grammar=None)
        self._scheduler.add_request(request)

    def prepend_request(self, entry: Entry) -> None:
        running = {request.request_id: request for request in self._scheduler.running}
        request = running.get(entry[0])
        if request is None:
            request = request_of(entry)
            request.status = RequestStatus.RUNNING
            self._scheduler.requests[request.request_id] = request
        else:
            self._scheduler.running.remove(request)
        self._scheduler._preempt_request(request, 0.0)

    def remove_requests(self, request_ids: list[str]) -> None:
        lists = (self._scheduler.waiting, self._scheduler.skipped_waiting)
        there = {request.request_id for requests in lists for request in requests}
        self._scheduler.finish_requests(
            there.intersection(request_ids), RequestStatus.FINISHED_ABORTED
        )

    def admit(self, num_seats: int, ready: list[str]) -> list[str]:
        scheduler = self._scheduler
        scheduler.max_num_running_reqs = len(scheduler.running) + num_seats
        self._compile(ready, object())
        output = scheduler.schedule()
        self._compile(ready, None)
        # Nothing is sampled: those that run have nothing to compute, and keep their seats.
        admitted = list(output.num_scheduled_tokens)
        scheduler.update_from_output(output, kit.sampled_output(output.num_scheduled_tokens, {}))
        return admitted

    def _compile(self, request_ids: list[str], grammar: object) -> None:
        for request_id in request_ids:
            request = self._scheduler.requests.get(request_id)
            if request is not None and request.structured_output_request is not None:
                request.structured_output_request.grammar = grammar

    def orders(self) -> tuple[list[str], list[str]]:
        return (
            [request.request_id for request in self._scheduler.waiting],
            [request.request_id for request in self._scheduler.skipped_waiting],
        )
