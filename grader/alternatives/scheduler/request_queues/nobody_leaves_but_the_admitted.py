"""A pass only reads: it walks along both lists as if they were one, and takes out whom it admits.
The heap keeps those that were removed until they come up; the FCFS queue is an ordered dict."""

import heapq
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice


@dataclass(order=True, frozen=True, slots=True)
class Ranked:
    priority: int
    arrival_time: float
    request_id: str


class _Queue:
    def prepend_requests(self, entries):
        for entry in entries:
            self.prepend_request(entry)

    def remove_request(self, request_id):
        if request_id not in self._live:
            raise ValueError(request_id)
        del self._live[request_id]

    def remove_requests(self, request_ids):
        for request_id in request_ids:
            self._live.pop(request_id, None)

    def size(self):
        return len(self._live)

    def pop_request(self):
        request_id = self.peek_request()
        del self._live[request_id]
        return request_id


class FCFSRequestQueue(_Queue):
    def __init__(self):
        self._live = OrderedDict()

    def add_request(self, entry):
        self._live[entry[0]] = entry

    def prepend_request(self, entry):
        self.add_request(entry)
        self._live.move_to_end(entry[0], last=False)

    def peek_request(self):
        for request_id in self._live:
            return request_id
        raise IndexError("nobody is here")

    def order(self):
        return list(self._live)


class PriorityRequestQueue(_Queue):
    def __init__(self):
        self._heap = []
        self._live = {}

    def add_request(self, entry):
        request_id, priority, arrival_time = entry
        ranked = Ranked(priority, arrival_time, request_id)
        self._live[request_id] = ranked
        heapq.heappush(self._heap, ranked)

    prepend_request = add_request

    def peek_request(self):
        while self._heap[0] != self._live.get(self._heap[0].request_id):
            heapq.heappop(self._heap)
        return self._heap[0].request_id

    def order(self):
        return [ranked.request_id for ranked in sorted(self._live.values())]


def create_request_queue(policy):
    match policy:
        case "fcfs":
            return FCFSRequestQueue()
        case "priority":
            return PriorityRequestQueue()
    raise ValueError(f"no policy {policy}")


class WaitingQueues:
    def __init__(self, policy):
        self._policy = policy
        self._waiting = create_request_queue(policy)
        self._skipped = create_request_queue(policy)
        self._ranks: dict[str, Ranked] = {}

    def add_request(self, entry, blocked=False):
        self._rank(entry)
        (self._skipped if blocked else self._waiting).add_request(entry)

    def prepend_request(self, entry):
        self._rank(entry)
        self._waiting.prepend_request(entry)

    def _rank(self, entry) -> None:
        request_id, priority, arrival_time = entry
        self._ranks[request_id] = Ranked(priority, arrival_time, request_id)

    def remove_requests(self, request_ids):
        self._waiting.remove_requests(request_ids)
        self._skipped.remove_requests(request_ids)

    def admit(self, num_seats, ready):
        waiting, skipped = self.orders()
        blocked = set(skipped) - set(ready)
        admissible = (i for i in self._line(skipped, waiting) if i not in blocked)
        admitted = list(islice(admissible, num_seats))
        self.remove_requests(admitted)
        return admitted

    def _line(self, skipped: Iterable[str], waiting: Iterable[str]) -> Iterator[str]:
        if self._policy == "fcfs":
            return chain(skipped, waiting)
        return heapq.merge(skipped, waiting, key=self._ranks.__getitem__)

    def orders(self):
        return self._waiting.order(), self._skipped.order()
