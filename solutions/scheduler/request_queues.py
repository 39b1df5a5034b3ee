"""Request queues: who is admitted next, and what happens to those that cannot be admitted yet.

Write the two queues first, then the admission pass on top of them.

Read in vLLM 0.30.0: `FCFSRequestQueue` and `PriorityRequestQueue` in
`vllm/v1/core/sched/request_queue.py`, `Scheduler.schedule` in `vllm/v1/core/sched/scheduler.py`.
"""

import heapq
from collections import deque

# A request as the queues know it: (request_id, priority, arrival_time). A smaller priority is
# more urgent, and a smaller arrival time is earlier (seconds).
Entry = tuple[str, int, float]


class FCFSRequestQueue:
    """First come, first served: requests leave in the order in which they were added.

    An id is in the queue at most once.

    >>> queue = FCFSRequestQueue()
    >>> queue.add_request(("a", 0, 1.0))
    >>> queue.add_request(("b", 0, 2.0))
    >>> queue.prepend_request(("x", 0, 3.0))
    >>> queue.order()
    ['x', 'a', 'b']
    """

    def __init__(self) -> None:
        self._request_ids: deque[str] = deque()

    def add_request(self, entry: Entry) -> None:
        """Put a request at the end."""
        ### BEGIN SOLUTION append the entry's id
        request_id, _, _ = entry
        self._request_ids.append(request_id)
        ### END SOLUTION

    def pop_request(self) -> str:
        """Take the first request out.

        Returns:
            Its id.

        Raises:
            IndexError: the queue is empty.
        """
        ### BEGIN SOLUTION take from the left
        return self._request_ids.popleft()
        ### END SOLUTION

    def peek_request(self) -> str:
        """Return the id of the first request and leave it where it is.

        Raises:
            IndexError: the queue is empty.
        """
        ### BEGIN SOLUTION look at the left end
        return self._request_ids[0]
        ### END SOLUTION

    def prepend_request(self, entry: Entry) -> None:
        """Put a request at the front."""
        ### BEGIN SOLUTION append the entry's id at the left
        request_id, _, _ = entry
        self._request_ids.appendleft(request_id)
        ### END SOLUTION

    def prepend_requests(self, entries: list[Entry]) -> None:
        """Put each of the entries at the front, one after the other. The list stays as it is.

        >>> queue = FCFSRequestQueue()
        >>> queue.add_request(("a", 0, 1.0))
        >>> queue.prepend_requests([("x", 0, 2.0), ("y", 0, 3.0), ("z", 0, 4.0)])
        >>> queue.order()
        ['z', 'y', 'x', 'a']
        """
        ### BEGIN SOLUTION prepend them in the order given
        for entry in entries:
            self.prepend_request(entry)
        ### END SOLUTION

    def remove_request(self, request_id: str) -> None:
        """Take one request out, wherever it stands.

        Raises:
            ValueError: it is not in the queue.
        """
        ### BEGIN SOLUTION remove the id; a deque raises what is wanted
        self._request_ids.remove(request_id)
        ### END SOLUTION

    def remove_requests(self, request_ids: list[str]) -> None:
        """Take out those of the requests that are in the queue, in one walk over it.

        >>> queue = FCFSRequestQueue()
        >>> for number, request_id in enumerate("abcd"):
        ...     queue.add_request((request_id, 0, float(number)))
        >>> queue.remove_requests(["c", "nobody", "a"])
        >>> queue.order()
        ['b', 'd']
        """
        ### BEGIN SOLUTION keep those that are not in the set of unwanted ids
        unwanted = set(request_ids)
        self._request_ids = deque(i for i in self._request_ids if i not in unwanted)
        ### END SOLUTION

    def order(self) -> list[str]:
        """Return all ids in the order in which they would be popped; nothing changes."""
        ### BEGIN SOLUTION a list of the ids
        return list(self._request_ids)
        ### END SOLUTION

    def size(self) -> int:
        """Return how many requests are in the queue."""
        ### BEGIN SOLUTION count them
        return len(self._request_ids)
        ### END SOLUTION


class PriorityRequestQueue:
    """The smallest (priority, arrival_time, request_id) first; ids compare as text.

    An id is in the queue at most once. The methods are those of `FCFSRequestQueue`.

    >>> queue = PriorityRequestQueue()
    >>> queue.add_request(("a", 1, 1.0))
    >>> queue.add_request(("b", 0, 2.0))
    >>> queue.prepend_request(("x", 5, 3.0))
    >>> queue.order()
    ['b', 'a', 'x']
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, float, str]] = []

    def add_request(self, entry: Entry) -> None:
        """Put a request in its place.

        >>> queue = PriorityRequestQueue()
        >>> for request_id in ("9", "10", "c"):
        ...     queue.add_request((request_id, 1, 5.0))
        >>> queue.order()
        ['10', '9', 'c']
        """
        ### BEGIN SOLUTION push what it is ordered by
        heapq.heappush(self._heap, _order_of(entry))
        ### END SOLUTION

    def pop_request(self) -> str:
        """Take the most urgent request out.

        Returns:
            Its id.

        Raises:
            IndexError: the queue is empty.
        """
        ### BEGIN SOLUTION pop from the heap
        _, _, request_id = heapq.heappop(self._heap)
        return request_id
        ### END SOLUTION

    def peek_request(self) -> str:
        """Return the id of the most urgent request and leave it where it is.

        Raises:
            IndexError: the queue is empty.
        """
        ### BEGIN SOLUTION look at the root of the heap
        _, _, request_id = self._heap[0]
        return request_id
        ### END SOLUTION

    def prepend_request(self, entry: Entry) -> None:
        """Put a request in its place: this queue has no front."""
        ### BEGIN SOLUTION the same as adding it
        self.add_request(entry)
        ### END SOLUTION

    def prepend_requests(self, entries: list[Entry]) -> None:
        """Put each of the entries in its place. The list stays as it is."""
        ### BEGIN SOLUTION the same as adding them
        for entry in entries:
            self.add_request(entry)
        ### END SOLUTION

    def remove_request(self, request_id: str) -> None:
        """Take one request out, wherever it stands.

        Raises:
            ValueError: it is not in the queue.
        """
        ### BEGIN SOLUTION remove it, and complain if nothing became shorter
        size = self.size()
        self.remove_requests([request_id])
        if self.size() == size:
            raise ValueError(f"{request_id} is not in the queue")
        ### END SOLUTION

    def remove_requests(self, request_ids: list[str]) -> None:
        """Take out those of the requests that are in the queue, in one walk over it."""
        ### BEGIN SOLUTION keep the others, and make a heap of them again
        unwanted = set(request_ids)
        self._heap = [item for item in self._heap if item[-1] not in unwanted]
        heapq.heapify(self._heap)
        ### END SOLUTION

    def order(self) -> list[str]:
        """Return all ids in the order in which they would be popped; nothing changes."""
        ### BEGIN SOLUTION sort a copy
        return [request_id for _, _, request_id in sorted(self._heap)]
        ### END SOLUTION

    def size(self) -> int:
        """Return how many requests are in the queue."""
        ### BEGIN SOLUTION count them
        return len(self._heap)
        ### END SOLUTION


def _order_of(entry: Entry) -> tuple[int, float, str]:
    """What a request is ordered by under the priority policy (given)."""
    request_id, priority, arrival_time = entry
    return priority, arrival_time, request_id


def create_request_queue(policy: str) -> FCFSRequestQueue | PriorityRequestQueue:
    """Return an empty queue for "fcfs" or "priority"; ValueError for anything else (given)."""
    if policy == "fcfs":
        return FCFSRequestQueue()
    if policy == "priority":
        return PriorityRequestQueue()
    raise ValueError(f"unknown scheduling policy: {policy}")


class WaitingQueues:
    """The two lists of requests that are not running, and the pass that admits from them.

    `waiting` holds those that need nothing but a seat, `skipped_waiting` those that are blocked:
    each waits for something of its own, say for its grammar to be compiled. An id is in one of
    the two, and there once. One that was admitted or removed may come again.

    Args:
        policy: "fcfs" or "priority"; each list is a queue of that policy.

    Two requests wait. The blocked one came later; once ready, it goes first.

    >>> queues = WaitingQueues("fcfs")
    >>> queues.add_request(("plain", 0, 1.0))
    >>> queues.add_request(("json", 0, 2.0), blocked=True)
    >>> queues.orders()
    (['plain'], ['json'])
    >>> queues.admit(1, ready=["json"])
    ['json']
    """

    def __init__(self, policy: str) -> None:
        self.policy = policy
        self.waiting = create_request_queue(policy)
        self.skipped_waiting = create_request_queue(policy)
        # The queues give back ids alone, so the entries of all that are in them are kept here.
        self._entries: dict[str, Entry] = {}
        self._blocked: set[str] = set()

    def add_request(self, entry: Entry, blocked: bool = False) -> None:
        """Put an arriving request into `skipped_waiting` if it is blocked, else into `waiting`."""
        ### BEGIN SOLUTION keep the entry and whether it is blocked; add it to a list
        request_id, _, _ = entry
        self._entries[request_id] = entry
        if blocked:
            self._blocked.add(request_id)
            self.skipped_waiting.add_request(entry)
        else:
            self.waiting.add_request(entry)
        ### END SOLUTION

    def prepend_request(self, entry: Entry) -> None:
        """Put a preempted request, which is not blocked, to the front of `waiting`.

        >>> queues = WaitingQueues("fcfs")
        >>> queues.add_request(("a", 0, 1.0))
        >>> queues.add_request(("b", 0, 2.0))
        >>> queues.admit(1, [])
        ['a']
        >>> queues.prepend_request(("a", 0, 1.0))
        >>> queues.orders()
        (['a', 'b'], [])
        """
        ### BEGIN SOLUTION remember the entry and prepend it
        request_id, _, _ = entry
        self._entries[request_id] = entry
        self.waiting.prepend_request(entry)
        ### END SOLUTION

    def remove_requests(self, request_ids: list[str]) -> None:
        """Take requests out of both lists; those that are in neither are passed over.

        >>> queues = WaitingQueues("priority")
        >>> queues.add_request(("a", 0, 1.0))
        >>> queues.add_request(("b", 0, 2.0), blocked=True)
        >>> queues.remove_requests(["b", "nobody"])
        >>> queues.orders()
        (['a'], [])
        """
        ### BEGIN SOLUTION remove them from both queues and _forget them
        self.waiting.remove_requests(request_ids)
        self.skipped_waiting.remove_requests(request_ids)
        for request_id in request_ids:
            self._forget(request_id)
        ### END SOLUTION

    def admit(self, num_seats: int, ready: list[str]) -> list[str]:
        """Make one admission pass.

        Args:
            num_seats: how many requests may be admitted at most, at least 0.
            ready: ids of blocked requests that have in this pass what they waited for. Other ids
                in it mean nothing.

        Returns:
            The admitted ids, in the order of admission. They have left the lists.

        >>> queues = WaitingQueues("fcfs")
        >>> for number, request_id in enumerate("abc"):
        ...     queues.add_request((request_id, 0, float(number)), blocked=True)
        >>> queues.add_request(("d", 0, 3.0))
        >>> queues.admit(2, ready=["b"])
        ['b', 'd']
        >>> queues.orders()
        ([], ['a', 'c'])
        """
        ### BEGIN SOLUTION heads that stay blocked go into a queue of this pass
        promotable = set(ready)
        step_skipped_waiting = create_request_queue(self.policy)
        admitted: list[str] = []
        while len(admitted) < num_seats:
            queue = self._select_queue()
            if queue is None:
                break
            request_id = queue.pop_request()
            if request_id in self._blocked and request_id not in promotable:
                step_skipped_waiting.prepend_request(self._entries[request_id])
                continue
            self._forget(request_id)
            admitted.append(request_id)
        skipped = [self._entries[request_id] for request_id in step_skipped_waiting.order()]
        self.skipped_waiting.prepend_requests(skipped)
        return admitted
        ### END SOLUTION

    def _select_queue(self) -> FCFSRequestQueue | PriorityRequestQueue | None:
        """Return the queue that the next request is taken from; None if both are empty."""
        ### BEGIN SOLUTION FCFS: skipped ones first; priority: the more urgent head
        if self.skipped_waiting.size() == 0:
            return self.waiting if self.waiting.size() else None
        if self.policy == "fcfs" or self.waiting.size() == 0:
            return self.skipped_waiting
        waiting_head = self._entries[self.waiting.peek_request()]
        skipped_head = self._entries[self.skipped_waiting.peek_request()]
        is_waiting_first = _order_of(waiting_head) < _order_of(skipped_head)
        return self.waiting if is_waiting_first else self.skipped_waiting
        ### END SOLUTION

    def _forget(self, request_id: str) -> None:
        """Drop what is kept of a request that leaves the lists (given)."""
        self._entries.pop(request_id, None)
        self._blocked.discard(request_id)

    def orders(self) -> tuple[list[str], list[str]]:
        """Return the ids in `waiting` and those in `skipped_waiting`, each in order (given)."""
        return self.waiting.order(), self.skipped_waiting.order()
