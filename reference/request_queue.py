"""Queues of requests that wait, one for each policy."""

import heapq
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Protocol

from reference.config import Policy
from reference.request import Request


class RequestQueue(Protocol):
    """Requests in the order in which they are to be admitted.

    ``pop_request`` and ``peek_request`` raise IndexError when it is empty, ``remove_request``
    raises ValueError when the request is not in it.
    """

    def add_request(self, request: Request) -> None:
        """Puts a request where the policy wants it."""

    def pop_request(self) -> Request:
        """Takes the first request."""
        ...

    def peek_request(self) -> Request:
        """The first request, left in its place."""
        ...

    def prepend_request(self, request: Request) -> None:
        """Puts a request at the front, if the policy knows a front."""

    def prepend_requests(self, requests: Iterable[Request]) -> None:
        """Prepends each in turn, so that under FCFS they end up reversed."""

    def remove_request(self, request: Request) -> None:
        """Takes a request out."""

    def remove_requests(self, requests: Iterable[Request]) -> None:
        """Takes out those of the requests that are in it."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Request]: ...


class FCFSRequestQueue:
    """First come, first served."""

    __slots__ = ("_requests",)

    def __init__(self) -> None:
        self._requests: deque[Request] = deque()

    def add_request(self, request: Request) -> None:
        """Puts a request at the end."""
        self._requests.append(request)

    def pop_request(self) -> Request:
        """Takes the first request; IndexError when empty."""
        return self._requests.popleft()

    def peek_request(self) -> Request:
        """The first request; IndexError when empty."""
        return self._requests[0]

    def prepend_request(self, request: Request) -> None:
        """Puts a request at the front."""
        self._requests.appendleft(request)

    def prepend_requests(self, requests: Iterable[Request]) -> None:
        """Puts each in turn at the front: the last one given is the first one out."""
        self._requests.extendleft(requests)

    def remove_request(self, request: Request) -> None:
        """Takes a request out; ValueError when it is not there."""
        self._requests.remove(request)

    def remove_requests(self, requests: Iterable[Request]) -> None:
        """Takes out those that are there, in one pass."""
        unwanted = set(requests)
        self._requests = deque(r for r in self._requests if r not in unwanted)

    def __len__(self) -> int:
        return len(self._requests)

    def __iter__(self) -> Iterator[Request]:
        return iter(self._requests)


class PriorityRequestQueue:
    """The smallest priority first; among equals the earliest, then the smaller id as text."""

    __slots__ = ("_heap",)

    def __init__(self) -> None:
        self._heap: list[tuple[int, float, str, Request]] = []

    def add_request(self, request: Request) -> None:
        """Puts a request in its place."""
        heapq.heappush(self._heap, _entry(request))

    def pop_request(self) -> Request:
        """Takes the most urgent request; IndexError when empty."""
        return heapq.heappop(self._heap)[-1]

    def peek_request(self) -> Request:
        """The most urgent request; IndexError when empty."""
        return self._heap[0][-1]

    def prepend_request(self, request: Request) -> None:
        """Puts a request in its place: there is no front."""
        self.add_request(request)

    def prepend_requests(self, requests: Iterable[Request]) -> None:
        """Puts each in its place."""
        for request in requests:
            self.add_request(request)

    def remove_request(self, request: Request) -> None:
        """Takes a request out; ValueError when it is not there."""
        self._heap.remove(_entry(request))
        heapq.heapify(self._heap)

    def remove_requests(self, requests: Iterable[Request]) -> None:
        """Takes out those that are there, in one pass."""
        unwanted = set(requests)
        self._heap = [entry for entry in self._heap if entry[-1] not in unwanted]
        heapq.heapify(self._heap)

    def __len__(self) -> int:
        return len(self._heap)

    def __iter__(self) -> Iterator[Request]:
        return (entry[-1] for entry in sorted(self._heap))


def _entry(request: Request) -> tuple[int, float, str, Request]:
    # Tuples are compared without a call into Python for each step of the heap.
    return request.priority, request.arrival_time, request.request_id, request


def create_request_queue(policy: Policy) -> RequestQueue:
    """An empty queue for the policy.

    >>> len(create_request_queue("priority"))
    0
    """
    return PriorityRequestQueue() if policy == "priority" else FCFSRequestQueue()
