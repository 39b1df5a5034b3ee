"""A pass only reads: it walks along both lists as if they were one, and takes out whom it admits.
The heap keeps those that were removed until they come up; the FCFS queue is an ordered dict."""

import heapq
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

Entry = tuple[str, int, float]


@dataclass(order=True, frozen=True, slots=True)
class Ranked:
    priority: int
    arrival_time: float
    request_id: str


class FCFSRequestQueue:
    def __init__(self) -> None:
        self._live: OrderedDict[str, Entry] = OrderedDict()

    def add_request(self, entry: Entry) -> None:
        self._live[entry[0]] = entry

    def prepend_request(self, entry: Entry) -> None:
        self.add_request(entry)
        self._live.move_to_end(entry[0], last=False)

    def prepend_requests(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self.prepend_request(entry)

    def peek_request(self) -> str:
        for request_id in self._live:
            return request_id
        raise IndexError("nobody is here")

    def pop_request(self) -> str:
        request_id = self.peek_request()
        del self._live[request_id]
        return request_id

    def remove_request(self, request_id: str) -> None:
        if self._live.pop(request_id, None) is None:
            raise ValueError(request_id)

    def remove_requests(self, request_ids: Iterable[str]) -> None:
        for request_id in request_ids:
            self._live.pop(request_id, None)

    def order(self) -> list[str]:
        return list(self._live)

    def size(self) -> int:
        return len(self._live)


class PriorityRequestQueue:
    def __init__(self) -> None:
        self._heap: list[Ranked] = []
        self._live: dict[str, Ranked] = {}

    def add_request(self, entry: Entry) -> None:
        ranked = rank(entry)
        self._live[ranked.request_id] = ranked
        heapq.heappush(self._heap, ranked)

    prepend_request = add_request

    def prepend_requests(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self.add_request(entry)

    def peek_request(self) -> str:
        while self._heap[0] != self._live.get(self._heap[0].request_id):
            heapq.heappop(self._heap)
        return self._heap[0].request_id

    def pop_request(self) -> str:
        request_id = self.peek_request()
        del self._live[request_id]
        return request_id

    def remove_request(self, request_id: str) -> None:
        try:
            del self._live[request_id]
        except KeyError:
            raise ValueError(request_id) from None

    def remove_requests(self, request_ids: Iterable[str]) -> None:
        for request_id in request_ids:
            self._live.pop(request_id, None)

    def order(self) -> list[str]:
        return [ranked.request_id for ranked in sorted(self._live.values())]

    def size(self) -> int:
        return len(self._live)


def rank(entry: Entry) -> Ranked:
    request_id, priority, arrival_time = entry
    return Ranked(priority, arrival_time, request_id)


def create_request_queue(policy: str) -> FCFSRequestQueue | PriorityRequestQueue:
    match policy:
        case "fcfs":
            return FCFSRequestQueue()
        case "priority":
            return PriorityRequestQueue()
    raise ValueError(f"no policy {policy}")


class WaitingQueues:
    def __init__(self, policy: str) -> None:
        self._policy = policy
        self._waiting = create_request_queue(policy)
        self._skipped = create_request_queue(policy)
        self._ranks: dict[str, Ranked] = {}

    def add_request(self, entry: Entry, blocked: bool = False) -> None:
        self._ranks[entry[0]] = rank(entry)
        (self._skipped if blocked else self._waiting).add_request(entry)

    def prepend_request(self, entry: Entry) -> None:
        self._ranks[entry[0]] = rank(entry)
        self._waiting.prepend_request(entry)

    def remove_requests(self, request_ids: list[str]) -> None:
        self._waiting.remove_requests(request_ids)
        self._skipped.remove_requests(request_ids)

    def admit(self, num_seats: int, ready: list[str]) -> list[str]:
        waiting, skipped = self.orders()
        blocked = set(skipped) - set(ready)
        admissible = (i for i in self._line(skipped, waiting) if i not in blocked)
        admitted = list(islice(admissible, num_seats))
        self.remove_requests(admitted)
        return admitted

    def _line(self, skipped: Iterable[str], waiting: Iterable[str]) -> Iterator[str]:
        if self._policy == "fcfs":
            return chain(skipped, waiting)
        return iter(heapq.merge(skipped, waiting, key=self._ranks.__getitem__))

    def orders(self) -> tuple[list[str], list[str]]:
        return self._waiting.order(), self._skipped.order()
