"""Token budget: decide how many tokens each request may compute in the next step.

This is vLLM's `Scheduler.schedule` for an engine that never runs out of KV memory
(vllm/v1/core/sched/scheduler.py). You write the methods that say NotImplementedError; the data
classes, `__init__`, `add_request` and `update_from_output` are given.
"""

from collections import deque
from dataclasses import dataclass, field


@dataclass
class SchedulerOutput:
    """What one step asks the model to do.

    Attributes:
        num_scheduled_tokens: request id -> tokens to compute in this step, each at least 1.
            Running requests come first, in the order of `running`, then those admitted now.
        scheduled_spec_decode_tokens: request id -> the draft tokens to verify in this step.
            A request with none has no entry.
    """

    num_scheduled_tokens: dict[str, int]
    scheduled_spec_decode_tokens: dict[str, list[int]]


@dataclass
class Request:
    """One request inside the scheduler. All counts are in tokens.

    Attributes:
        request_id: its name.
        num_prompt_tokens: length of the prompt, at least 1.
        max_tokens: how many output tokens end it, at least 1.
        num_output_tokens: output tokens so far.
        num_computed_tokens: positions that were handed to the model so far.
        spec_token_ids: draft tokens waiting to be verified.
        is_prefill_chunk: whether the last step left some of its tokens uncomputed.
    """

    request_id: str
    num_prompt_tokens: int
    max_tokens: int
    num_output_tokens: int = 0
    num_computed_tokens: int = 0
    spec_token_ids: list[int] = field(default_factory=list)
    is_prefill_chunk: bool = False

    @property
    def num_tokens(self) -> int:
        """Tokens known so far: the prompt and the output."""
        return self.num_prompt_tokens + self.num_output_tokens


class Scheduler:
    """Share out each step's token budget: running requests first, then the waiting ones.

    Args:
        max_num_seqs: seats, that is, how many requests may be running at once.
        max_num_batched_tokens: how many tokens one forward pass takes at most.
        max_num_scheduled_tokens: how many tokens one step may hand out at most;
            None means `max_num_batched_tokens`.
        max_model_len: longest sequence (prompt and output), in tokens. Prompts are shorter.
        long_prefill_token_threshold: most tokens one request may take in a step; 0 is no limit.
        enable_chunked_prefill: whether a prompt may be cut to fit what is left of the budget.

    Two seats and 32 tokens a step. The second prompt is cut, and goes on in the next step:

    >>> scheduler = Scheduler(max_num_seqs=2, max_num_batched_tokens=32)
    >>> scheduler.add_request("a", num_prompt_tokens=10, max_tokens=4)
    >>> scheduler.add_request("b", num_prompt_tokens=50, max_tokens=4)
    >>> scheduler.schedule().num_scheduled_tokens
    {'a': 10, 'b': 22}
    >>> scheduler.update_from_output({"a": [7]})
    >>> scheduler.schedule().num_scheduled_tokens
    {'a': 1, 'b': 28}
    """

    def __init__(
        self,
        max_num_seqs: int,
        max_num_batched_tokens: int,
        max_num_scheduled_tokens: int | None = None,
        max_model_len: int = 8192,
        long_prefill_token_threshold: int = 0,
        enable_chunked_prefill: bool = True,
    ) -> None:
        self.max_num_seqs = max_num_seqs
        self.max_num_batched_tokens = max_num_batched_tokens
        self.max_num_scheduled_tokens = max_num_scheduled_tokens
        self.max_model_len = max_model_len
        self.long_prefill_token_threshold = long_prefill_token_threshold
        self.enable_chunked_prefill = enable_chunked_prefill
        self.requests: dict[str, Request] = {}  # every unfinished request
        self.waiting: deque[Request] = deque()  # not admitted yet, oldest first
        self.running: list[Request] = []  # admitted and unfinished, in order of admission

    def add_request(self, request_id: str, num_prompt_tokens: int, max_tokens: int) -> None:
        """Put a new request at the end of `waiting` (given)."""
        request = Request(request_id, num_prompt_tokens, max_tokens)
        self.requests[request_id] = request
        self.waiting.append(request)

    def schedule(self) -> SchedulerOutput:
        """Decide the next step: how many tokens each request computes.

        Returns:
            The step, with at least 1 token for each request named in it. Both dictionaries are
            empty if nobody can take a token.

        >>> scheduler = Scheduler(4, 32, long_prefill_token_threshold=8)
        >>> scheduler.add_request("long", num_prompt_tokens=20, max_tokens=4)
        >>> scheduler.add_request("short", num_prompt_tokens=5, max_tokens=4)
        >>> scheduler.schedule().num_scheduled_tokens
        {'long': 8, 'short': 5}
        """
        raise NotImplementedError(
            "Scheduler.schedule: find the budget, serve running, then waiting, then count ahead"
        )

    def _schedule_running(self, output: SchedulerOutput, token_budget: int) -> int:
        """Give tokens to the running requests, in order, and return the budget that is left."""
        raise NotImplementedError(
            "Scheduler._schedule_running: serve them while budget is left; trim their drafts"
        )

    def _schedule_waiting(self, output: SchedulerOutput, token_budget: int) -> None:
        """Admit waiting requests, oldest first, into the free seats with the budget left."""
        raise NotImplementedError(
            "Scheduler._schedule_waiting: look at the head of the queue; admit it, or stop"
        )

    def _update_after_schedule(self, output: SchedulerOutput) -> None:
        """Count the scheduled tokens as computed, before the model has even run."""
        raise NotImplementedError(
            "Scheduler._update_after_schedule: advance the counts, set is_prefill_chunk"
        )

    def update_draft_token_ids(self, draft_token_ids: dict[str, list[int]]) -> None:
        """Take in the drafts that were guessed for the requests' next tokens.

        Args:
            draft_token_ids: request id -> draft tokens, possibly none. They replace the
                request's old drafts. Ids of finished requests are ignored.

        >>> scheduler = Scheduler(max_num_seqs=2, max_num_batched_tokens=6)
        >>> scheduler.add_request("a", num_prompt_tokens=2, max_tokens=9)
        >>> scheduler.add_request("b", num_prompt_tokens=2, max_tokens=9)
        >>> _ = scheduler.schedule()
        >>> scheduler.update_from_output({"a": [5], "b": [6]})
        >>> scheduler.update_draft_token_ids({"a": [11, 12, 13], "b": [21, 22, 23]})
        >>> output = scheduler.schedule()
        >>> output.num_scheduled_tokens
        {'a': 4, 'b': 2}
        >>> output.scheduled_spec_decode_tokens
        {'a': [11, 12, 13], 'b': [21]}
        """
        raise NotImplementedError(
            "Scheduler.update_draft_token_ids: store the drafts; a prefill chunk keeps none"
        )

    def update_from_output(self, sampled: dict[str, list[int]]) -> None:
        """Take in what the model sampled in the last step, and end requests (given).

        Args:
            sampled: request id -> the sampled tokens: the accepted drafts and one more.
                A prefill chunk samples nothing.
        """
        for request_id, token_ids in sampled.items():
            if not token_ids:
                continue
            request = self.requests[request_id]
            request.num_output_tokens += len(token_ids)
            # Only the newest token is still to be computed; rejected drafts leave no trace.
            request.num_computed_tokens = request.num_tokens - 1
            if (
                request.num_output_tokens >= request.max_tokens
                or request.num_tokens >= self.max_model_len
            ):
                del self.requests[request_id]
        self.running = [r for r in self.running if r.request_id in self.requests]
