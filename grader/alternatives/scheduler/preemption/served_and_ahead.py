"""No index: running is cut into those served and those ahead; who came back waits on a stack."""

import heapq
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any


class Status(Enum):
    WAITING = auto()
    RUNNING = auto()
    PREEMPTED = auto()


@dataclass
class SchedulerOutput:
    num_scheduled_tokens: dict[str, int]
    preempted_req_ids: list[str]


@dataclass(frozen=True)
class Limits:
    seats: int
    tokens: int
    chunk: int | None
    chunked: bool
    length: int
    reserve: bool


@dataclass(eq=False)
class Request:
    request_id: str
    prompt: tuple[int, ...]
    max_tokens: int
    urgency: tuple[int, float]
    outputs: list[int] = field(default_factory=list)
    block_hashes: list[bytes] = field(default_factory=list)
    status: Status = Status.WAITING
    num_computed_tokens: int = 0
    num_preemptions: int = 0
    skip_reading_prefix_cache: bool = False

    @property
    def num_tokens(self) -> int:
        return len(self.prompt) + len(self.outputs)

    @property
    def is_waiting(self) -> bool:
        return self.status is not Status.RUNNING

    def __lt__(self, other: "Request") -> bool:
        return (self.urgency, self.request_id) < (other.urgency, other.request_id)


class FirstCome:
    """Waiting requests: those that came back, the last one first, then those that arrived."""

    def __init__(self) -> None:
        self.returned: list[Request] = []
        self.arrived: deque[Request] = deque()

    def arrive(self, request: Request) -> None:
        self.arrived.append(request)

    def come_back(self, request: Request) -> None:
        self.returned.append(request)

    def __iter__(self) -> Iterator[Request]:
        yield from reversed(self.returned)
        yield from self.arrived

    def pop(self) -> None:
        if self.returned:
            self.returned.pop()
        else:
            self.arrived.popleft()

    def victim(self, running: list[Request]) -> Request:
        return running[-1]


class ByUrgency:
    """Waiting requests in a heap."""

    def __init__(self) -> None:
        self.heap: list[Request] = []

    def arrive(self, request: Request) -> None:
        heapq.heappush(self.heap, request)

    def come_back(self, request: Request) -> None:
        heapq.heappush(self.heap, request)

    def __iter__(self) -> Iterator[Request]:
        return iter(sorted(self.heap))

    def pop(self) -> None:
        heapq.heappop(self.heap)

    def victim(self, running: list[Request]) -> Request:
        worst = running[0]
        for request in running:
            if request.urgency > worst.urgency:
                worst = request
        return worst


class ExampleManager:
    def __init__(self, num_blocks: int, block_size: int) -> None:
        self.owner: dict[int, str | None] = dict.fromkeys(range(1, num_blocks))
        self.block_size = block_size

    def get_computed_blocks(self, _request: Request) -> tuple[list[int], int]:
        return [], 0

    def allocate_slots(
        self, request: Request, num_new_tokens: int, *_hit: Any, **options: bool
    ) -> list[int] | None:
        held = len(self.get_block_ids(request.request_id)) * self.block_size
        slots = request.num_computed_tokens + num_new_tokens
        free = self.free_order()
        whole = request.num_tokens if options.get("full_sequence_must_fit") else slots
        if max(whole, slots) > held + len(free) * self.block_size:
            return None
        taken: list[int] = []
        while held < slots:
            taken.append(free.pop(0))
            self.owner[taken[-1]] = request.request_id
            held += self.block_size
        return taken

    def free(self, request_id: str) -> None:
        for block in self.get_block_ids(request_id):
            self.owner[block] = None

    def get_block_ids(self, request_id: str) -> list[int]:
        return [block for block, owner in self.owner.items() if owner == request_id]

    def free_order(self) -> list[int]:
        return [block for block, owner in self.owner.items() if owner is None]


class Scheduler:
    def __init__(
        self,
        kv_cache_manager: Any,
        max_num_seqs: int,
        max_num_batched_tokens: int,
        policy: str = "fcfs",
        scheduler_reserve_full_isl: bool = True,
        max_num_scheduled_tokens: int | None = None,
        max_model_len: int = 8192,
        long_prefill_token_threshold: int = 0,
        enable_chunked_prefill: bool = True,
        block_hasher: Callable[[list[int]], list[bytes]] | None = None,
    ) -> None:
        most = [max_num_batched_tokens, max_num_scheduled_tokens]
        self.limits = Limits(
            seats=max_num_seqs,
            tokens=min(limit for limit in most if limit is not None),
            chunk=long_prefill_token_threshold or None,
            chunked=enable_chunked_prefill,
            length=max_model_len,
            reserve=scheduler_reserve_full_isl,
        )
        self.manager = kv_cache_manager
        self.block_hasher = block_hasher
        self.requests: dict[str, Request] = {}
        self.running: list[Request] = []
        self.waiting = ByUrgency() if policy == "priority" else FirstCome()

    def add_request(
        self,
        request_id: str,
        prompt_token_ids: list[int],
        max_tokens: int,
        priority: int = 0,
        arrival_time: float = 0.0,
    ) -> None:
        request = Request(request_id, tuple(prompt_token_ids), max_tokens, (priority, arrival_time))
        self.requests[request_id] = request
        self._hash(request)
        self.waiting.arrive(request)

    def _hash(self, request: Request) -> None:
        if self.block_hasher:
            request.block_hashes = self.block_hasher([*request.prompt, *request.outputs])

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = {
            "running": [r.request_id for r in self.running],
            "waiting": [r.request_id for r in self.waiting],
            "num_free_blocks": len(self.manager.free_order()),
            "block_ids": {},
            "num_computed_tokens": {},
            "num_preemptions": {},
        }
        for name, request in self.requests.items():
            state["block_ids"][name] = list(self.manager.get_block_ids(name))
            state["num_computed_tokens"][name] = request.num_computed_tokens
            state["num_preemptions"][name] = request.num_preemptions
        return state

    def schedule(self) -> SchedulerOutput:
        grants: dict[str, int] = {}
        preempted = self._serve(grants)
        if not preempted:
            self._admit(grants)
        for name, grant in grants.items():
            self.requests[name].num_computed_tokens += grant
        return SchedulerOutput(grants, sorted(preempted))

    def _serve(self, grants: dict[str, int]) -> list[str]:
        preempted: list[str] = []
        served: list[Request] = []
        ahead = deque(self.running)
        left = self.limits.tokens
        while ahead and left:
            request = ahead.popleft()
            grant = self._cut(request.num_tokens - request.num_computed_tokens, left)
            victim = None
            while grant and self.manager.allocate_slots(request, grant) is None:
                victim = self.waiting.victim([*served, request, *ahead])
                self._send_back(victim)
                preempted.append(victim.request_id)
                if victim is request:
                    break
                if victim in served:
                    served.remove(victim)
                    left += grants.pop(victim.request_id, 0)
                else:
                    ahead.remove(victim)
            if victim is request:
                break
            served.append(request)
            if grant:
                grants[request.request_id] = grant
                left -= grant
        self.running = served + list(ahead)
        return preempted

    def _cut(self, wanted: int, left: int) -> int:
        return (
            min(wanted, left) if self.limits.chunk is None else min(wanted, left, self.limits.chunk)
        )

    def _send_back(self, victim: Request) -> None:
        self.manager.free(victim.request_id)
        victim.status = Status.PREEMPTED
        victim.num_computed_tokens = 0
        victim.num_preemptions += 1
        self.waiting.come_back(victim)

    def _admit(self, grants: dict[str, int]) -> None:
        left = self.limits.tokens - sum(grants.values())
        for request in list(self.waiting):
            if left == 0 or len(self.running) >= self.limits.seats:
                return
            hit, num_hit_tokens = self.manager.get_computed_blocks(request)
            wanted = request.num_tokens - num_hit_tokens
            grant = self._cut(wanted, left)
            if not self.limits.chunked and grant < min(wanted, self.limits.chunk or wanted):
                return
            room = self.manager.allocate_slots(
                request,
                grant,
                num_new_computed_tokens=num_hit_tokens,
                new_computed_blocks=hit,
                full_sequence_must_fit=self.limits.reserve,
                has_scheduled_reqs=self.running != [],
            )
            if room is None:
                return
            self.waiting.pop()
            request.status = Status.RUNNING
            request.num_computed_tokens = num_hit_tokens
            grants[request.request_id] = grant
            self.running.append(request)
            left -= grant

    def update_from_output(self, sampled: dict[str, list[int]]) -> None:
        for name, token_ids in sampled.items():
            request = self.requests[name]
            request.outputs += token_ids
            self._hash(request)
            if (
                len(request.outputs) >= request.max_tokens
                or request.num_tokens >= self.limits.length
            ):
                self.manager.free(name)
                self.running.remove(self.requests.pop(name))
