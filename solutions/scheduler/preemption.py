"""Preemption: schedule steps when KV memory runs out, by sending requests back to the queue.

This is vLLM's `Scheduler.schedule` with its KV cache manager (vllm/v1/core/sched/scheduler.py).
You write the methods that say NotImplementedError; the data classes, the queue and
`update_from_output` are given. Draft tokens are left out here.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass
class SchedulerOutput:
    """What one step asks the model to do.

    Attributes:
        num_scheduled_tokens: request id -> tokens to compute in this step, each at least 1.
            Running requests come first, in the order of `running`, then those admitted now.
        preempted_req_ids: the requests that this step preempted, sorted by id.
    """

    num_scheduled_tokens: dict[str, int]
    preempted_req_ids: list[str]


@dataclass(eq=False)
class Request:
    """One request inside the scheduler. All counts are in tokens.

    Attributes:
        request_id: its name.
        prompt_token_ids: the prompt, at least one token.
        max_tokens: how many output tokens end it, at least 1.
        priority: a smaller number is more urgent. Only the policy "priority" looks at it.
        arrival_time: when it came; the earlier one is more urgent among equal priorities.
        output_token_ids: the output so far. A preempted request keeps it.
        block_hashes: one hash for each full block of its tokens. They are kept, too.
        status: "WAITING", "RUNNING" or "PREEMPTED".
        num_computed_tokens: tokens whose keys and values are in the KV cache.
        num_preemptions: how often it was preempted.
        skip_reading_prefix_cache: read by the KV cache manager; always False here.
    """

    request_id: str
    prompt_token_ids: list[int]
    max_tokens: int
    priority: int = 0
    arrival_time: float = 0.0
    output_token_ids: list[int] = field(default_factory=list)
    block_hashes: list[bytes] = field(default_factory=list)
    status: str = "WAITING"
    num_computed_tokens: int = 0
    num_preemptions: int = 0
    skip_reading_prefix_cache: bool = False

    @property
    def num_tokens(self) -> int:
        """Tokens known so far: the prompt and the output."""
        return len(self.prompt_token_ids) + len(self.output_token_ids)

    @property
    def is_waiting(self) -> bool:
        """Whether it is to be admitted, for the first time or again. The manager reads it."""
        return self.status != "RUNNING"


class ExampleManager:
    """Just enough of a KV cache manager for the examples below.

    It has no prefix cache and no watermark, and hands out the lowest free block. When the engine
    or the grader runs your scheduler, the engine's own manager stands here, with these methods.
    """

    def __init__(self, num_blocks: int, block_size: int) -> None:
        self.num_blocks = num_blocks  # block 0 is the null block, which is never free
        self.block_size = block_size
        self.tables: dict[str, list[int]] = {}

    def get_computed_blocks(self, _request: Request) -> tuple[list[int], int]:
        """The cached blocks that the request can start with, and the tokens in them."""
        return [], 0

    def allocate_slots(
        self,
        request: Request,
        num_new_tokens: int,
        num_new_computed_tokens: int = 0,
        new_computed_blocks: Sequence[int] = (),
        *,
        full_sequence_must_fit: bool = False,
        has_scheduled_reqs: bool = False,
    ) -> list[int] | None:
        """The blocks that it takes for the new tokens; None, and no change, if they do not fit."""
        del has_scheduled_reqs  # it matters for the watermark alone
        table = [*self.get_block_ids(request.request_id), *new_computed_blocks]
        num_slots = request.num_computed_tokens + num_new_computed_tokens + num_new_tokens
        most = max(num_slots, request.num_tokens) if full_sequence_must_fit else num_slots
        if -(-most // self.block_size) - len(table) > len(self.free_order()):
            return None
        num_missing = max(-(-num_slots // self.block_size) - len(table), 0)
        new_blocks = self.free_order()[:num_missing]
        self.tables[request.request_id] = table + new_blocks
        return new_blocks

    def free(self, request_id: str) -> None:
        """Take back all blocks of a request."""
        self.tables.pop(request_id, None)

    def get_block_ids(self, request_id: str) -> list[int]:
        """The blocks that a request holds, in order."""
        return self.tables.get(request_id, [])

    def free_order(self) -> list[int]:
        """The free blocks."""
        held = {block for table in self.tables.values() for block in table}
        return [block for block in range(1, self.num_blocks) if block not in held]


class Scheduler:
    """Share out each step's tokens, and preempt when there is no block left for them.

    Args:
        kv_cache_manager: which request holds which blocks; `ExampleManager` shows its methods.
        max_num_seqs: seats, that is, how many requests may be running at once.
        max_num_batched_tokens: how many tokens one forward pass takes at most.
        policy: "fcfs" or "priority".
        scheduler_reserve_full_isl: whether a request is admitted only if blocks for all its
            known tokens are free, and not just for those of the step.
        max_num_scheduled_tokens: how many tokens one step may hand out at most;
            None means `max_num_batched_tokens`.
        max_model_len: longest sequence (prompt and output), in tokens. Prompts are shorter.
        long_prefill_token_threshold: most tokens one request may take in a step; 0 is no limit.
        enable_chunked_prefill: whether a prompt may be cut to fit what is left of the budget.
        block_hasher: gives the hash of each full block of some tokens; None if nothing is cached.

    Four blocks of 4 tokens can be used. `a` and `b` start with two each. Then `b` needs a third:

    >>> scheduler = Scheduler(ExampleManager(5, block_size=4), 4, 32)
    >>> scheduler.add_request("a", [1, 2, 3, 4, 5, 6, 7], max_tokens=4)
    >>> scheduler.add_request("b", [11, 12, 13, 14, 15, 16, 17, 18], max_tokens=4)
    >>> scheduler.schedule()
    SchedulerOutput(num_scheduled_tokens={'a': 7, 'b': 8}, preempted_req_ids=[])
    >>> scheduler.update_from_output({"a": [8], "b": [19]})
    >>> scheduler.schedule()
    SchedulerOutput(num_scheduled_tokens={'a': 1}, preempted_req_ids=['b'])
    """

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
        self.kv_cache_manager = kv_cache_manager
        self.max_num_seqs = max_num_seqs
        self.max_num_batched_tokens = max_num_batched_tokens
        self.policy = policy
        self.scheduler_reserve_full_isl = scheduler_reserve_full_isl
        self.max_num_scheduled_tokens = max_num_scheduled_tokens
        self.max_model_len = max_model_len
        self.long_prefill_token_threshold = long_prefill_token_threshold
        self.enable_chunked_prefill = enable_chunked_prefill
        self.block_hasher = block_hasher
        self.requests: dict[str, Request] = {}  # every unfinished request
        self.waiting: deque[Request] = deque()  # new and preempted ones, the first one first
        self.running: list[Request] = []  # admitted and unfinished, in order of admission

    def add_request(
        self,
        request_id: str,
        prompt_token_ids: list[int],
        max_tokens: int,
        priority: int = 0,
        arrival_time: float = 0.0,
    ) -> None:
        """Put a new request at the end of `waiting` (given)."""
        request = Request(request_id, list(prompt_token_ids), max_tokens, priority, arrival_time)
        self.requests[request_id] = request
        self.waiting.append(request)
        self._hash_blocks(request)

    def state(self) -> dict[str, Any]:
        """Queues, block tables and counts, for whoever looks on (given)."""
        requests = self.requests.values()
        waiting = list(self.waiting)
        if self.policy == "priority":
            waiting.sort(key=self._urgency)
        get_block_ids = self.kv_cache_manager.get_block_ids
        return {
            "running": [request.request_id for request in self.running],
            "waiting": [request.request_id for request in waiting],
            "num_free_blocks": len(self.kv_cache_manager.free_order()),
            "block_ids": {r.request_id: list(get_block_ids(r.request_id)) for r in requests},
            "num_computed_tokens": {r.request_id: r.num_computed_tokens for r in requests},
            "num_preemptions": {r.request_id: r.num_preemptions for r in requests},
        }

    def schedule(self) -> SchedulerOutput:
        """Decide the next step: who computes how many tokens, and who is preempted.

        Returns:
            The step, with at least 1 token for each request named in `num_scheduled_tokens`. No
            request is in both of its fields.

        `low` has run longer, but `high` is more urgent (0 before 5) and needs a block:

        >>> scheduler = Scheduler(ExampleManager(5, block_size=4), 4, 32, policy="priority")
        >>> scheduler.add_request("low", [1, 2, 3, 4, 5], max_tokens=4, priority=5)
        >>> _ = scheduler.schedule()
        >>> scheduler.update_from_output({"low": [6]})
        >>> scheduler.add_request("high", [11, 12, 13, 14, 15, 16, 17, 18], max_tokens=4)
        >>> scheduler.schedule().num_scheduled_tokens
        {'low': 1, 'high': 8}
        >>> scheduler.update_from_output({"low": [7], "high": [19]})
        >>> scheduler.schedule()
        SchedulerOutput(num_scheduled_tokens={'high': 1}, preempted_req_ids=['low'])
        >>> scheduler.state()["running"], scheduler.state()["waiting"]
        (['high'], ['low'])
        """
        ### BEGIN SOLUTION find the budget, serve running, perhaps waiting, then count ahead
        token_budget = self.max_num_batched_tokens
        if self.max_num_scheduled_tokens is not None:
            token_budget = min(token_budget, self.max_num_scheduled_tokens)
        output = SchedulerOutput({}, [])
        token_budget = self._schedule_running(output, token_budget)
        if not output.preempted_req_ids:
            self._schedule_waiting(output, token_budget)
        output.preempted_req_ids.sort()
        for request_id, num_new_tokens in output.num_scheduled_tokens.items():
            self.requests[request_id].num_computed_tokens += num_new_tokens
        return output
        ### END SOLUTION

    def _schedule_running(self, output: SchedulerOutput, token_budget: int) -> int:
        """Give tokens to the running requests, preempt where needed; return the budget left."""
        ### BEGIN SOLUTION walk by index; when there are no slots, preempt and ask again
        req_index = 0
        while req_index < len(self.running) and token_budget > 0:
            request = self.running[req_index]
            num_new_tokens = request.num_tokens - request.num_computed_tokens
            if 0 < self.long_prefill_token_threshold < num_new_tokens:
                num_new_tokens = self.long_prefill_token_threshold
            num_new_tokens = min(num_new_tokens, token_budget)
            if num_new_tokens == 0:
                req_index += 1
                continue

            while self.kv_cache_manager.allocate_slots(request, num_new_tokens) is None:
                victim = self._choose_victim()
                victim_index = self.running.index(victim)
                del self.running[victim_index]
                if victim_index < req_index:
                    req_index -= 1
                token_budget += output.num_scheduled_tokens.pop(victim.request_id, 0)
                self._preempt_request(victim)
                output.preempted_req_ids.append(victim.request_id)
                if victim is request:
                    return token_budget

            output.num_scheduled_tokens[request.request_id] = num_new_tokens
            token_budget -= num_new_tokens
            req_index += 1
        return token_budget
        ### END SOLUTION

    def _choose_victim(self) -> Request:
        """The running request to preempt next, by the policy."""
        ### BEGIN SOLUTION the last one, or the least urgent one
        if self.policy == "priority":
            return max(self.running, key=lambda r: (r.priority, r.arrival_time))
        return self.running[-1]
        ### END SOLUTION

    def _preempt_request(self, request: Request) -> None:
        """Take a request's blocks and send it, no longer in `running`, back to the queue."""
        ### BEGIN SOLUTION free, reset, put it in front
        self.kv_cache_manager.free(request.request_id)
        request.status = "PREEMPTED"
        request.num_computed_tokens = 0
        request.num_preemptions += 1
        self.waiting.appendleft(request)
        ### END SOLUTION

    def _schedule_waiting(self, output: SchedulerOutput, token_budget: int) -> None:
        """Admit waiting requests into the free seats with the budget and the blocks left."""
        ### BEGIN SOLUTION look at the head of the queue; admit it with its hit, or stop
        while token_budget > 0 and len(self.running) < self.max_num_seqs:
            request = self._peek_waiting()
            if request is None:
                break
            hit_blocks, num_hit_tokens = self.kv_cache_manager.get_computed_blocks(request)
            num_new_tokens = request.num_tokens - num_hit_tokens
            if 0 < self.long_prefill_token_threshold < num_new_tokens:
                num_new_tokens = self.long_prefill_token_threshold
            if not self.enable_chunked_prefill and num_new_tokens > token_budget:
                break
            num_new_tokens = min(num_new_tokens, token_budget)
            new_blocks = self.kv_cache_manager.allocate_slots(
                request,
                num_new_tokens,
                num_hit_tokens,
                hit_blocks,
                full_sequence_must_fit=self.scheduler_reserve_full_isl,
                has_scheduled_reqs=bool(self.running),
            )
            if new_blocks is None:
                break

            self.waiting.remove(request)
            self.running.append(request)
            request.status = "RUNNING"
            request.num_computed_tokens = num_hit_tokens
            output.num_scheduled_tokens[request.request_id] = num_new_tokens
            token_budget -= num_new_tokens
        ### END SOLUTION

    def _peek_waiting(self) -> Request | None:
        """The request to be admitted next, left in its place; None if nobody waits (given)."""
        if not self.waiting:
            return None
        if self.policy == "priority":
            return min(self.waiting, key=self._urgency)
        return self.waiting[0]

    @staticmethod
    def _urgency(request: Request) -> tuple[int, float, str]:
        """What orders the queue under the policy "priority": the smallest goes first (given)."""
        return request.priority, request.arrival_time, request.request_id

    def _hash_blocks(self, request: Request) -> None:
        """Bring the request's block hashes up to date with its tokens (given)."""
        if self.block_hasher is not None:
            all_token_ids = request.prompt_token_ids + request.output_token_ids
            request.block_hashes = self.block_hasher(all_token_ids)

    def update_from_output(self, sampled: dict[str, list[int]]) -> None:
        """Take in what the model sampled in the last step, and end requests (given).

        Args:
            sampled: request id -> the sampled token. A prefill chunk samples nothing.
        """
        for request_id, token_ids in sampled.items():
            if not token_ids:
                continue
            request = self.requests[request_id]
            request.output_token_ids += token_ids
            self._hash_blocks(request)
            if (
                len(request.output_token_ids) >= request.max_tokens
                or request.num_tokens >= self.max_model_len
            ):
                self.kv_cache_manager.free(request_id)
                del self.requests[request_id]
        self.running = [r for r in self.running if r.request_id in self.requests]
