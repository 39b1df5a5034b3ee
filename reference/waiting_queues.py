"""The two lists of requests that are not running, and which of them is admitted from."""

from collections.abc import Callable, Iterable

from reference.config import Policy
from reference.request import Request
from reference.request_queue import RequestQueue


class WaitingQueues:
    """``waiting`` for room, and ``skipped_waiting`` for something besides, or just passed over.

    Each is a queue of the policy, made by ``request_queue``.
    """

    __slots__ = ("_policy", "_request_queue", "skipped_waiting", "waiting")

    def __init__(self, policy: Policy, request_queue: Callable[[Policy], RequestQueue]) -> None:
        self._policy = policy
        self._request_queue = request_queue
        self.waiting = request_queue(policy)
        self.skipped_waiting = request_queue(policy)

    def add_request(self, request: Request) -> None:
        """Puts an arriving request where it belongs."""
        queue = self.skipped_waiting if request.status.is_blocked else self.waiting
        queue.add_request(request)

    def select(self) -> RequestQueue | None:
        """The queue whose head is to be admitted next; None when both are empty.

        FCFS takes the skipped ones first, however late they came; priority the smaller head.
        """
        waiting, skipped = self.waiting, self.skipped_waiting
        if not len(skipped):
            return waiting if len(waiting) else None
        if self._policy == "priority" and len(waiting):
            return waiting if waiting.peek_request() < skipped.peek_request() else skipped
        return skipped

    def new_queue(self) -> RequestQueue:
        """An empty queue of the policy, for those passed over in one step."""
        return self._request_queue(self._policy)

    def remove_requests(self, requests: Iterable[Request]) -> None:
        """Takes requests out of both lists."""
        unwanted = list(requests)
        self.waiting.remove_requests(unwanted)
        self.skipped_waiting.remove_requests(unwanted)

    def request_ids(self) -> list[str]:
        """All ids: the skipped ones in order, then the waiting ones."""
        return [r.request_id for queue in (self.skipped_waiting, self.waiting) for r in queue]

    def __len__(self) -> int:
        return len(self.waiting) + len(self.skipped_waiting)
