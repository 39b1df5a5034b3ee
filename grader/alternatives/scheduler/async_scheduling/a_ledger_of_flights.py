"""No counter is kept: each request has a ledger of its steps in flight, and all counts are sums."""

from collections import deque
from dataclasses import dataclass, field


@dataclass
class SchedulerOutput:
    num_scheduled_tokens: dict[str, int]
    scheduled_spec_decode_tokens: dict[str, list[int]]


@dataclass(eq=False)
class Flight:
    """A request's part in one step that has not come back."""

    num_tokens: int
    num_outputs: int
    is_stale: bool = False
    is_dropped: bool = False


@dataclass(eq=False)
class Request:
    request_id: str
    num_prompt_tokens: int
    max_tokens: int
    eos_token_id: int | None
    outputs: list[int] = field(default_factory=list)
    settled: int = 0
    has_drafts: bool = False
    flights: deque[Flight] = field(default_factory=deque)

    @property
    def num_tokens(self) -> int:
        return self.num_prompt_tokens + len(self.outputs)

    @property
    def expected(self) -> int:
        return sum(flight.num_outputs for flight in self.flights if not flight.is_stale)

    @property
    def computed(self) -> int:
        return self.settled + sum(f.num_tokens for f in self.flights if not f.is_stale)

    @property
    def blocked(self) -> bool:
        return any(flight.is_stale and not flight.is_dropped for flight in self.flights)


class Scheduler:
    """There is nothing that the two classes could share here."""


class AsyncScheduler(Scheduler):
    def __init__(
        self, max_model_len: int, max_num_scheduled_tokens: int, num_spec_tokens: int = 0
    ) -> None:
        self.max_model_len = max_model_len
        self.budget = max_num_scheduled_tokens
        self.num_spec_tokens = num_spec_tokens
        self.requests: dict[str, Request] = {}
        self.running: list[Request] = []
        self.skipped: list[Request] = []
        self.waiting: list[Request] = []
        self.steps: deque[list[tuple[str, Flight]]] = deque()

    def add_request(
        self,
        request_id: str,
        num_prompt_tokens: int,
        max_tokens: int,
        eos_token_id: int | None = None,
    ) -> None:
        request = Request(request_id, num_prompt_tokens, max_tokens, eos_token_id)
        self.requests[request_id] = request
        self.waiting.append(request)

    def schedule(self) -> SchedulerOutput:
        output = SchedulerOutput({}, {})
        step: list[tuple[str, Flight]] = []
        left = self.budget
        for request in self.running:
            left -= self._launch(request, left, output, step)
        line = self.skipped + self.waiting
        admitted = []
        passed_over = []
        for request in line:
            if left == 0:
                break
            if request.blocked:
                passed_over.append(request)
            else:
                left -= self._launch(request, left, output, step)
                admitted.append(request)
        # Those passed over come first next time, and then whoever was not looked at.
        seen = {id(request) for request in (*admitted, *passed_over)}
        self.skipped = passed_over + [r for r in self.skipped if id(r) not in seen]
        self.waiting = [r for r in self.waiting if id(r) not in seen]
        self.running += admitted
        self.steps.append(step)
        return output

    def _launch(
        self,
        request: Request,
        left: int,
        output: SchedulerOutput,
        step: list[tuple[str, Flight]],
    ) -> int:
        """Gives a request its tokens, if it can take any, and says how many."""
        expected, computed = request.expected, request.computed
        if expected and len(request.outputs) + 1 >= request.max_tokens:
            return 0
        without_drafts = request.num_tokens + expected - computed
        wanted = without_drafts + (self.num_spec_tokens if request.has_drafts else 0)
        num_tokens = min(wanted, left, self.max_model_len - 1 - computed)
        if num_tokens == 0:
            return 0
        num_drafts = max(num_tokens - without_drafts, 0)
        samples = num_tokens >= without_drafts
        flight = Flight(num_tokens, 1 + num_drafts if samples else 0)
        request.flights.append(flight)
        request.has_drafts = samples
        output.num_scheduled_tokens[request.request_id] = num_tokens
        if num_drafts:
            output.scheduled_spec_decode_tokens[request.request_id] = [-1] * num_drafts
        step.append((request.request_id, flight))
        return num_tokens

    def preempt(self, request_id: str, drop_stale_output: bool = False) -> None:
        request = self.requests[request_id]
        self.running = [one for one in self.running if one is not request]
        self.waiting = [request, *self.waiting]
        drops = drop_stale_output or any(flight.is_dropped for flight in request.flights)
        for flight in request.flights:
            flight.is_stale, flight.is_dropped = True, drops
        request.settled = 0
        request.has_drafts = False

    def update_from_output(self, sampled: dict[str, list[int]]) -> dict[str, list[int]]:
        delivered: dict[str, list[int]] = {}
        for request_id, flight in self.steps.popleft():
            if request_id not in self.requests:
                continue
            request = self.requests[request_id]
            request.flights.popleft()
            if flight.is_dropped:
                continue
            tokens = sampled.get(request_id) or []
            if not flight.is_stale:
                num_wrong = flight.num_outputs - len(tokens) if tokens else 0
                request.settled += flight.num_tokens - num_wrong
            if tokens:
                delivered[request_id] = self._deliver(request, tokens)
        return delivered

    def _deliver(self, request: Request, tokens: list[int]) -> list[int]:
        room = min(request.max_tokens, self.max_model_len - request.num_prompt_tokens)
        kept = tokens[: room - len(request.outputs)]
        if request.eos_token_id in kept:
            kept = kept[: kept.index(request.eos_token_id) + 1]
        request.outputs += kept
        if len(request.outputs) == room or request.outputs[-1] == request.eos_token_id:
            del self.requests[request.request_id]
            self.running, self.skipped, self.waiting = (
                [one for one in queue if one is not request]
                for queue in (self.running, self.skipped, self.waiting)
            )
        return kept

    def queues(self) -> tuple[list[str], list[str], list[str]]:
        running, skipped, waiting = (
            [request.request_id for request in queue]
            for queue in (self.running, self.skipped, self.waiting)
        )
        return running, skipped, waiting

    def counters(self, request_id: str) -> dict[str, int]:
        request = self.requests[request_id]
        return {
            "num_tokens": request.num_tokens,
            "num_computed_tokens": request.computed,
            "num_output_placeholders": request.expected,
            "num_in_flight_tokens": sum(f.num_tokens for f in request.flights),
            "num_stale_output_tokens": sum(f.num_tokens for f in request.flights if f.is_stale),
        }
