"""Walks over a copy of running, past those preempted on the way; the budget is always summed up."""

from bisect import insort
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any


@dataclass
class SchedulerOutput:
    num_scheduled_tokens: dict[str, int]
    preempted_req_ids: list[str]


@dataclass(eq=False)
class Request:
    request_id: str
    token_ids: list[int]
    output_left: int
    place: tuple[Any, ...]
    priority: int
    arrival_time: float
    block_hashes: list[bytes] = field(default_factory=list)
    is_waiting: bool = True
    num_computed_tokens: int = 0
    num_preemptions: int = 0
    skip_reading_prefix_cache: bool = False

    @property
    def num_tokens(self) -> int:
        return len(self.token_ids)


class ExampleManager:
    def __init__(self, num_blocks: int, block_size: int) -> None:
        self.free_blocks = set(range(1, num_blocks))
        self.block_size = block_size
        self.tables: dict[str, list[int]] = {}

    def get_computed_blocks(self, _request: Request) -> tuple[list[int], int]:
        return [], 0

    def allocate_slots(
        self,
        request: Request,
        num_new_tokens: int,
        _num_new_computed_tokens: int = 0,
        _new_computed_blocks: Sequence[int] = (),
        full_sequence_must_fit: bool = False,
        **_others: bool,
    ) -> list[int] | None:
        table = self.tables.get(request.request_id, [])
        slots = request.num_computed_tokens + num_new_tokens

        def missing(num_tokens: int) -> int:
            return max((num_tokens - 1) // self.block_size + 1 - len(table), 0)

        whole = missing(request.num_tokens) if full_sequence_must_fit else 0
        if max(missing(slots), whole) > len(self.free_blocks):
            return None
        taken = sorted(self.free_blocks)[: missing(slots)]
        self.free_blocks -= set(taken)
        self.tables[request.request_id] = table + taken
        return taken

    def free(self, request_id: str) -> None:
        self.free_blocks.update(self.tables.pop(request_id, ()))

    def get_block_ids(self, request_id: str) -> list[int]:
        return self.tables.get(request_id, [])

    def free_order(self) -> list[int]:
        return sorted(self.free_blocks)


class Scheduler:
    """`waiting` is sorted by each request's place: its urgency, or a number that grows from 0 for
    those that arrive and falls from -1 for those that come back."""

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
        self.manager = kv_cache_manager
        self.seats = max_num_seqs
        self.budget = min(max_num_batched_tokens, max_num_scheduled_tokens or 1 << 30)
        self.by_priority = policy == "priority"
        self.reserve = scheduler_reserve_full_isl
        self.max_model_len = max_model_len
        self.most_at_once = long_prefill_token_threshold or 1 << 30
        self.chunked = enable_chunked_prefill
        self.hasher = block_hasher or (lambda _token_ids: [])
        self.running: list[Request] = []
        self.waiting: list[Request] = []
        self.arrivals, self.returns = count(), count(-1, -1)
        self.scheduled: dict[str, int] = {}
        self.preempted: list[str] = []

    def add_request(
        self,
        request_id: str,
        prompt_token_ids: list[int],
        max_tokens: int,
        priority: int = 0,
        arrival_time: float = 0.0,
    ) -> None:
        place = (priority, arrival_time, request_id) if self.by_priority else (next(self.arrivals),)
        token_ids = list(prompt_token_ids)
        request = Request(request_id, token_ids, max_tokens, place, priority, arrival_time)
        request.block_hashes = self.hasher(token_ids)
        self._queue(request)

    def _queue(self, request: Request) -> None:
        insort(self.waiting, request, key=lambda r: r.place)

    def _everybody(self) -> Iterator[Request]:
        yield from self.running
        yield from self.waiting

    def state(self) -> dict[str, Any]:
        tables = {r.request_id: self.manager.get_block_ids(r.request_id) for r in self._everybody()}
        return {
            "running": [r.request_id for r in self.running],
            "waiting": [r.request_id for r in self.waiting],
            "num_free_blocks": len(self.manager.free_order()),
            "block_ids": {name: list(table) for name, table in tables.items()},
            "num_computed_tokens": {r.request_id: r.num_computed_tokens for r in self._everybody()},
            "num_preemptions": {r.request_id: r.num_preemptions for r in self._everybody()},
        }

    def _left(self) -> int:
        return self.budget - sum(self.scheduled.values())

    def schedule(self) -> SchedulerOutput:
        self.scheduled, self.preempted = {}, []
        if self._serve_running() and not self.preempted:
            while self._admit():
                pass
        for request in self.running:
            request.num_computed_tokens += self.scheduled.get(request.request_id, 0)
        return SchedulerOutput(self.scheduled, sorted(self.preempted))

    def _serve_running(self) -> bool:
        """False if a request had to preempt itself."""
        for request in list(self.running):
            left = self._left()
            if left == 0:
                break
            if request.is_waiting:
                continue
            wanted = request.num_tokens - request.num_computed_tokens
            n = min(wanted, self.most_at_once, left)
            if n == 0:
                continue
            if not self._make_room(request, n):
                return False
            self.scheduled[request.request_id] = n
        return True

    def _make_room(self, request: Request, n: int) -> bool:
        while True:
            if self.manager.allocate_slots(request, n) is not None:
                return True
            if self._preempt() is request:
                return False

    def _preempt(self) -> Request:
        victim = self.running[-1]
        if self.by_priority:
            worst = max(r.place[:2] for r in self.running)
            victim = next(r for r in self.running if r.place[:2] == worst)
        self.running = [r for r in self.running if r is not victim]
        self.scheduled.pop(victim.request_id, None)
        self.preempted.append(victim.request_id)
        self.manager.free(victim.request_id)
        victim.is_waiting = True
        victim.num_computed_tokens = 0
        victim.num_preemptions += 1
        if not self.by_priority:
            victim.place = (next(self.returns),)
        self._queue(victim)
        return victim

    def _admit(self) -> bool:
        left = self._left()
        if not self.waiting or left == 0 or len(self.running) == self.seats:
            return False
        request = self.waiting[0]
        blocks, num_hit_tokens = self.manager.get_computed_blocks(request)
        n = min(request.num_tokens - num_hit_tokens, self.most_at_once)
        if n > left and not self.chunked:
            return False
        n = min(n, left)
        taken = self.manager.allocate_slots(
            request,
            n,
            num_hit_tokens,
            blocks,
            full_sequence_must_fit=self.reserve,
            has_scheduled_reqs=len(self.running) > 0,
        )
        if taken is None:
            return False
        request.is_waiting = False
        request.num_computed_tokens = num_hit_tokens
        self.scheduled[request.request_id] = n
        self.running.append(self.waiting.pop(0))
        return True

    def update_from_output(self, sampled: dict[str, list[int]]) -> None:
        by_id = {request.request_id: request for request in self.running}
        for request_id in [name for name, token_ids in sampled.items() if token_ids]:
            request = by_id[request_id]
            request.token_ids.extend(sampled[request_id])
            request.block_hashes = self.hasher(request.token_ids)
            request.output_left -= 1
            if request.output_left == 0 or request.num_tokens >= self.max_model_len:
                self.manager.free(request_id)
                self.running.remove(request)
