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
        raise NotImplementedError("FCFSRequestQueue.add_request: append the entry's id")

    def pop_request(self) -> str:
        """Take the first request out.

        Returns:
            Its id.

        Raises:
            IndexError: the queue is empty.
        """
        raise NotImplementedError("FCFSRequestQueue.pop_request: take from the left")

    def peek_request(self) -> str:
        """Return the id of the first request and leave it where it is.

        Raises:
            IndexError: the queue is empty.
        """
        raise NotImplementedError("FCFSRequestQueue.peek_request: look at the left end")

    def prepend_request(self, entry: Entry) -> None:
        """Put a request at the front."""
        raise NotImplementedError(
            "FCFSRequestQueue.prepend_request: append the entry's id at the left"
        )

    def prepend_requests(self, entries: list[Entry]) -> None:
        """Put each of the entries at the front, one after the other. The list stays as it is.

        >>> queue = FCFSRequestQueue()
        >>> queue.add_request(("a", 0, 1.0))
        >>> queue.prepend_requests([("x", 0, 2.0), ("y", 0, 3.0), ("z", 0, 4.0)])
        >>> queue.order()
        ['z', 'y', 'x', 'a']
        """
        raise NotImplementedError(
            "FCFSRequestQueue.prepend_requests: prepend them in the order given"
        )

    def remove_request(self, request_id: str) -> None:
        """Take one request out, wherever it stands.

        Raises:
            ValueError: it is not in the queue.
        """
        raise NotImplementedError(
            "FCFSRequestQueue.remove_request: remove the id; a deque raises what is wanted"
        )

    def remove_requests(self, request_ids: list[str]) -> None:
        """Take out those of the requests that are in the queue, in one walk over it.

        >>> queue = FCFSRequestQueue()
        >>> for number, request_id in enumerate("abcd"):
        ...     queue.add_request((request_id, 0, float(number)))
        >>> queue.remove_requests(["c", "nobody", "a"])
        >>> queue.order()
        ['b', 'd']
        """
        raise NotImplementedError(
            "FCFSRequestQueue.remove_requests: keep those that are not in the set of unwanted ids"
        )

    def order(self) -> list[str]:
        """Return all ids in the order in which they would be popped; nothing changes."""
        raise NotImplementedError("FCFSRequestQueue.order: a list of the ids")

    def size(self) -> int:
        """Return how many requests are in the queue."""
        raise NotImplementedError("FCFSRequestQueue.size: count them")


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
        raise NotImplementedError("PriorityRequestQueue.add_request: push what it is ordered by")

    def pop_request(self) -> str:
        """Take the most urgent request out.

        Returns:
            Its id.

        Raises:
            IndexError: the queue is empty.
        """
        raise NotImplementedError("PriorityRequestQueue.pop_request: pop from the heap")

    def peek_request(self) -> str:
        """Return the id of the most urgent request and leave it where it is.

        Raises:
            IndexError: the queue is empty.
        """
        raise NotImplementedError("PriorityRequestQueue.peek_request: look at the root of the heap")

    def prepend_request(self, entry: Entry) -> None:
        """Put a request in its place: this queue has no front."""
        raise NotImplementedError("PriorityRequestQueue.prepend_request: the same as adding it")

    def prepend_requests(self, entries: list[Entry]) -> None:
        """Put each of the entries in its place. The list stays as it is."""
        raise NotImplementedError("PriorityRequestQueue.prepend_requests: the same as adding them")

    def remove_request(self, request_id: str) -> None:
        """Take one request out, wherever it stands.

        Raises:
            ValueError: it is not in the queue.
        """
        raise NotImplementedError(
            "PriorityRequestQueue.remove_request: remove it, and complain if nothing became shorter"
        )

    def remove_requests(self, request_ids: list[str]) -> None:
        """Take out those of the requests that are in the queue, in one walk over it."""
        raise NotImplementedError(
            "PriorityRequestQueue.remove_requests: keep the others, and make a heap of them again"
        )

    def order(self) -> list[str]:
        """Return all ids in the order in which they would be popped; nothing changes."""
        raise NotImplementedError("PriorityRequestQueue.order: sort a copy")

    def size(self) -> int:
        """Return how many requests are in the queue."""
        raise NotImplementedError("PriorityRequestQueue.size: count them")


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
        raise NotImplementedError(
            "WaitingQueues.add_request: keep the entry and whether it is blocked; add it to a list"
        )

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
        raise NotImplementedError(
            "WaitingQueues.prepend_request: remember the entry and prepend it"
        )

    def remove_requests(self, request_ids: list[str]) -> None:
        """Take requests out of both lists; those that are in neither are passed over.

        >>> queues = WaitingQueues("priority")
        >>> queues.add_request(("a", 0, 1.0))
        >>> queues.add_request(("b", 0, 2.0), blocked=True)
        >>> queues.remove_requests(["b", "nobody"])
        >>> queues.orders()
        (['a'], [])
        """
        raise NotImplementedError(
            "WaitingQueues.remove_requests: remove them from both queues and _forget them"
        )

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
        raise NotImplementedError(
            "WaitingQueues.admit: heads that stay blocked go into a queue of this pass"
        )

    def _select_queue(self) -> FCFSRequestQueue | PriorityRequestQueue | None:
        """Return the queue that the next request is taken from; None if both are empty."""
        raise NotImplementedError(
            "WaitingQueues._select_queue: FCFS: skipped ones first; priority: the more urgent head"
        )

    def _forget(self, request_id: str) -> None:
        """Drop what is kept of a request that leaves the lists (given)."""
        self._entries.pop(request_id, None)
        self._blocked.discard(request_id)

    def orders(self) -> tuple[list[str], list[str]]:
        """Return the ids in `waiting` and those in `skipped_waiting`, each in order (given)."""
        return self.waiting.order(), self.skipped_waiting.order()
