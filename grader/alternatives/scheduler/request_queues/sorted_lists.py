"""Plain lists throughout: the priority queue is kept sorted, and a pass keeps those that it has
passed over in a list of its own."""

from bisect import bisect_left, insort

Entry = tuple[str, int, float]


class FCFSRequestQueue:
    def __init__(self) -> None:
        self._ids: list[str] = []

    def add_request(self, entry: Entry) -> None:
        self._ids.append(entry[0])

    def pop_request(self) -> str:
        return self._ids.pop(0)

    def peek_request(self) -> str:
        return self._ids[0]

    def prepend_request(self, entry: Entry) -> None:
        self._ids.insert(0, entry[0])

    def prepend_requests(self, entries: list[Entry]) -> None:
        self._ids = [entry[0] for entry in reversed(entries)] + self._ids

    def remove_request(self, request_id: str) -> None:
        del self._ids[self._ids.index(request_id)]

    def remove_requests(self, request_ids: list[str]) -> None:
        gone = frozenset(request_ids)
        self._ids = [request_id for request_id in self._ids if request_id not in gone]

    def order(self) -> list[str]:
        return self._ids.copy()

    def size(self) -> int:
        return len(self._ids)


class PriorityRequestQueue:
    def __init__(self) -> None:
        self._line: list[tuple[int, float, str]] = []

    def add_request(self, entry: Entry) -> None:
        insort(self._line, (entry[1], entry[2], entry[0]))

    def pop_request(self) -> str:
        return self._line.pop(0)[2]

    def peek_request(self) -> str:
        return self._line[0][2]

    def prepend_request(self, entry: Entry) -> None:
        self.add_request(entry)

    def prepend_requests(self, entries: list[Entry]) -> None:
        self._line.extend((entry[1], entry[2], entry[0]) for entry in entries)
        self._line.sort()

    def remove_request(self, request_id: str) -> None:
        del self._line[self.order().index(request_id)]

    def remove_requests(self, request_ids: list[str]) -> None:
        gone = frozenset(request_ids)
        self._line = [item for item in self._line if item[2] not in gone]

    def order(self) -> list[str]:
        return [item[2] for item in self._line]

    def size(self) -> int:
        return len(self._line)


def create_request_queue(policy: str) -> FCFSRequestQueue | PriorityRequestQueue:
    if policy not in ("fcfs", "priority"):
        raise ValueError(policy)
    return FCFSRequestQueue() if policy == "fcfs" else PriorityRequestQueue()


class WaitingQueues:
    def __init__(self, policy: str) -> None:
        self._is_fcfs = policy == "fcfs"
        self._waiting: list[Entry] = []
        self._skipped: list[Entry] = []

    def _place(self, line: list[Entry], entry: Entry, at_the_front: bool = False) -> None:
        if self._is_fcfs:
            line.insert(0 if at_the_front else len(line), entry)
        else:
            line.insert(bisect_left(line, _urgency(entry), key=_urgency), entry)

    def add_request(self, entry: Entry, blocked: bool = False) -> None:
        self._place(self._skipped if blocked else self._waiting, entry)

    def prepend_request(self, entry: Entry) -> None:
        self._place(self._waiting, entry, at_the_front=True)

    def remove_requests(self, request_ids: list[str]) -> None:
        for line in (self._waiting, self._skipped):
            line[:] = [entry for entry in line if entry[0] not in request_ids]

    def admit(self, num_seats: int, ready: list[str]) -> list[str]:
        admitted: list[str] = []
        passed_over: list[Entry] = []
        while len(admitted) < num_seats and (self._skipped or self._waiting):
            if self._next_is_skipped():
                entry = self._skipped.pop(0)
                if entry[0] not in ready:
                    passed_over.append(entry)
                    continue
            else:
                entry = self._waiting.pop(0)
            admitted.append(entry[0])
        for entry in reversed(passed_over):
            self._place(self._skipped, entry, at_the_front=True)
        return admitted

    def _next_is_skipped(self) -> bool:
        if not (self._waiting and self._skipped):
            return bool(self._skipped)
        return self._is_fcfs or _urgency(self._skipped[0]) < _urgency(self._waiting[0])

    def orders(self) -> tuple[list[str], list[str]]:
        return [entry[0] for entry in self._waiting], [entry[0] for entry in self._skipped]


def _urgency(entry: Entry) -> tuple[int, float, str]:
    request_id, priority, arrival_time = entry
    return priority, arrival_time, request_id
