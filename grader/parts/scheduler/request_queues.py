"""Puts a submission's request queues into the engine."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from grader.checks import require
from reference.config import Policy
from reference.engine import Parts
from reference.request import Request

Entry = tuple[str, int, float]


class Queue:
    """What the engine calls: its requests stay here, the submission orders their entries."""

    def __init__(self, queue: Any) -> None:
        self._queue = queue
        self._requests: dict[str, Request] = {}

    def add_request(self, request: Request) -> None:
        self._queue.add_request(self._keep(request))

    def pop_request(self) -> Request:
        request = self._request(self._queue.pop_request())
        del self._requests[request.request_id]
        return request

    def peek_request(self) -> Request:
        return self._request(self._queue.peek_request())

    def prepend_request(self, request: Request) -> None:
        self._queue.prepend_request(self._keep(request))

    def prepend_requests(self, requests: Iterable[Request]) -> None:
        self._queue.prepend_requests([self._keep(request) for request in requests])

    def remove_request(self, request: Request) -> None:
        self._queue.remove_request(request.request_id)
        self._requests.pop(request.request_id, None)

    def remove_requests(self, requests: Iterable[Request]) -> None:
        request_ids = [request.request_id for request in requests]
        self._queue.remove_requests(request_ids)
        for request_id in request_ids:
            self._requests.pop(request_id, None)

    def __len__(self) -> int:
        size = self._queue.size()
        require(type(size) is int and size >= 0, "A size is a whole number.", size=size)
        return int(size)

    def __iter__(self) -> Iterator[Request]:
        order = self._queue.order()
        require(type(order) is list, "An order is a list of ids.", order=order)
        return iter([self._request(request_id) for request_id in order])

    def _keep(self, request: Request) -> Entry:
        self._requests[request.request_id] = request
        return request.request_id, request.priority, request.arrival_time

    def _request(self, request_id: Any) -> Request:
        require(
            type(request_id) is str and request_id in self._requests,
            "A queue gives back only the ids of requests that are in it.",
            request_id=request_id,
        )
        return self._requests[request_id]


def install(parts: Parts, lesson: Any) -> Parts:
    def request_queue(policy: Policy) -> Queue:
        return Queue(lesson.create_request_queue(policy))

    return replace(parts, request_queue=request_queue)
