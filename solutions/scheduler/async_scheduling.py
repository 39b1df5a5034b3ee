"""Async scheduling: decide the next step before the outputs of the last one are there.

This is vLLM's `AsyncScheduler` (vllm/v1/core/sched/async_scheduler.py) with the parts of
`Scheduler` that it leans on (vllm/v1/core/sched/scheduler.py), for an engine that never runs out
of KV memory. You write the methods that say NotImplementedError; the data classes and the class
`Scheduler`, with its queues and its admissions, are given.
"""

from collections import deque
from dataclasses import dataclass, field


@dataclass
class SchedulerOutput:
    """What one step asks the model to do.

    Attributes:
        num_scheduled_tokens: request id -> tokens to compute in this step, each at least 1.
            Running requests come first, in the order of `running`, then those admitted now.
        scheduled_spec_decode_tokens: request id -> the drafts among them, each -1: the model
            knows them, the scheduler only how many. A request with none has no entry.
    """

    num_scheduled_tokens: dict[str, int]
    scheduled_spec_decode_tokens: dict[str, list[int]]


@dataclass(eq=False)
class Request:
    """One request inside the scheduler. All counts are in tokens.

    Attributes:
        request_id: its name.
        num_prompt_tokens: length of the prompt.
        max_tokens: how many output tokens end it, at least 1.
        max_model_len: at this length, prompt and output, it ends too.
        eos_token_id: the output token that ends it; None if there is none.
        output_token_ids: the outputs that have come back.
        spec_token_ids: the drafts to verify in its next step, each -1.
        num_computed_tokens: positions that were handed to the model since it was admitted.
        num_output_placeholders: outputs that it counts on and that have not come back, drafts
            included.
        num_in_flight_tokens: tokens scheduled in the steps that have not come back.
        num_stale_output_tokens: those of them that were scheduled before it was preempted.
        drop_stale_output: whether what these sampled is thrown away.
        is_prefill_chunk: whether the last step left some of its tokens uncomputed.
    """

    request_id: str
    num_prompt_tokens: int
    max_tokens: int
    max_model_len: int
    eos_token_id: int | None = None
    output_token_ids: list[int] = field(default_factory=list)
    spec_token_ids: list[int] = field(default_factory=list)
    num_computed_tokens: int = 0
    num_output_placeholders: int = 0
    num_in_flight_tokens: int = 0
    num_stale_output_tokens: int = 0
    drop_stale_output: bool = False
    is_prefill_chunk: bool = False

    @property
    def num_tokens(self) -> int:
        """Tokens known so far: the prompt, and the outputs that have come back."""
        return self.num_prompt_tokens + len(self.output_token_ids)

    @property
    def is_over(self) -> bool:
        """Whether the output token that came back last ends the request."""
        return bool(self.output_token_ids) and (
            self.output_token_ids[-1] == self.eos_token_id
            or len(self.output_token_ids) >= self.max_tokens
            or self.num_tokens >= self.max_model_len
        )


class Scheduler:
    """The queues and the admissions (given); `AsyncScheduler` does the rest.

    Args:
        max_model_len: longest sequence, prompt and output, in tokens. Prompts are shorter.
        max_num_scheduled_tokens: how many tokens one step may hand out at most.
        num_spec_tokens: how many drafts the model makes for each request that decodes.

    Attributes:
        requests: every unfinished request, by its id.
        running: those that are admitted, in the order in which they were.
        waiting: those that are to be admitted, the first one first.
        skipped_waiting: those of them that were passed over; they come before `waiting`.
        in_flight: the steps whose outputs have not come back, the oldest first.
    """

    def __init__(
        self, max_model_len: int, max_num_scheduled_tokens: int, num_spec_tokens: int = 0
    ) -> None:
        self.max_model_len = max_model_len
        self.max_num_scheduled_tokens = max_num_scheduled_tokens
        self.num_spec_tokens = num_spec_tokens
        self.requests: dict[str, Request] = {}
        self.running: list[Request] = []
        self.waiting: deque[Request] = deque()
        self.skipped_waiting: deque[Request] = deque()
        self.in_flight: deque[SchedulerOutput] = deque()

    def add_request(
        self,
        request_id: str,
        num_prompt_tokens: int,
        max_tokens: int,
        eos_token_id: int | None = None,
    ) -> None:
        """Put a new request at the end of `waiting`."""
        request = Request(
            request_id, num_prompt_tokens, max_tokens, self.max_model_len, eos_token_id
        )
        self.requests[request_id] = request
        self.waiting.append(request)

    def schedule(self) -> SchedulerOutput:
        """Decide the next step, and count it as in flight.

        It may be called several times before the first output is there.
        """
        output = SchedulerOutput({}, {})
        token_budget = self._schedule_running(output, self.max_num_scheduled_tokens)
        self._schedule_waiting(output, token_budget)
        self._update_after_schedule(output)
        self.in_flight.append(output)
        return output

    def _schedule_waiting(self, output: SchedulerOutput, token_budget: int) -> None:
        passed_over = []
        while token_budget > 0 and (self.skipped_waiting or self.waiting):
            request = (self.skipped_waiting or self.waiting).popleft()
            if self._must_wait(request):
                passed_over.append(request)
                continue
            num_new_tokens = min(request.num_tokens, token_budget)
            output.num_scheduled_tokens[request.request_id] = num_new_tokens
            token_budget -= num_new_tokens
            self.running.append(request)
        self.skipped_waiting.extendleft(reversed(passed_over))

    def _schedule_running(self, output: SchedulerOutput, token_budget: int) -> int:
        raise NotImplementedError

    def _must_wait(self, request: Request) -> bool:
        raise NotImplementedError

    def _update_after_schedule(self, output: SchedulerOutput) -> None:
        raise NotImplementedError

    def _finish(self, request: Request) -> None:
        """Take a request that is over out of everything, wherever it stands."""
        del self.requests[request.request_id]
        for queue in (self.running, self.waiting, self.skipped_waiting):
            if request in queue:
                queue.remove(request)

    def queues(self) -> tuple[list[str], list[str], list[str]]:
        """Return the ids in `running`, `skipped_waiting` and `waiting`, in order."""
        queues = (self.running, self.skipped_waiting, self.waiting)
        running, skipped_waiting, waiting = ([r.request_id for r in queue] for queue in queues)
        return running, skipped_waiting, waiting

    def counters(self, request_id: str) -> dict[str, int]:
        """Return the counts of an unfinished request, by the names of `Request`'s fields."""
        request = self.requests[request_id]
        return {
            "num_tokens": request.num_tokens,
            "num_computed_tokens": request.num_computed_tokens,
            "num_output_placeholders": request.num_output_placeholders,
            "num_in_flight_tokens": request.num_in_flight_tokens,
            "num_stale_output_tokens": request.num_stale_output_tokens,
        }


class AsyncScheduler(Scheduler):
    """Schedule steps whose predecessors are still in the model.

    A prompt of 5 tokens that asks for 3. Each step is decided before the one before it has come
    back, and after the third one nothing is left to schedule, although only one output is known:

    >>> scheduler = AsyncScheduler(max_model_len=100, max_num_scheduled_tokens=32)
    >>> scheduler.add_request("a", num_prompt_tokens=5, max_tokens=3)
    >>> scheduler.schedule().num_scheduled_tokens
    {'a': 5}
    >>> scheduler.schedule().num_scheduled_tokens
    {'a': 1}
    >>> scheduler.update_from_output({"a": [7]})
    {'a': [7]}
    >>> scheduler.schedule().num_scheduled_tokens
    {'a': 1}
    >>> scheduler.update_from_output({"a": [8]})
    {'a': [8]}
    >>> scheduler.schedule().num_scheduled_tokens
    {}
    """

    def _schedule_running(self, output: SchedulerOutput, token_budget: int) -> int:
        """Give tokens to the running requests, in order, and return the budget that is left.

        Writes what it gives into `output`. A request whose end is certain, or that can take no
        token, is skipped. Whoever gets tokens has no drafts left afterwards.

        >>> scheduler = AsyncScheduler(100, 32, num_spec_tokens=2)
        >>> scheduler.add_request("a", num_prompt_tokens=5, max_tokens=9)
        >>> _ = scheduler.schedule()
        >>> output = scheduler.schedule()
        >>> output.num_scheduled_tokens, output.scheduled_spec_decode_tokens
        ({'a': 3}, {'a': [-1, -1]})
        """
        ### BEGIN SOLUTION what is known, drafted and counted on, less what is computed
        for request in self.running:
            if token_budget == 0:
                break
            if self._is_end_certain(request):
                continue
            num_expected_tokens = request.num_tokens + request.num_output_placeholders
            num_new_tokens = min(
                num_expected_tokens + len(request.spec_token_ids) - request.num_computed_tokens,
                token_budget,
                self.max_model_len - 1 - request.num_computed_tokens,
            )
            if num_new_tokens == 0:
                continue

            output.num_scheduled_tokens[request.request_id] = num_new_tokens
            token_budget -= num_new_tokens

            num_drafts = request.num_computed_tokens + num_new_tokens - num_expected_tokens
            if request.spec_token_ids and num_drafts > 0:
                drafts = request.spec_token_ids[:num_drafts]
                output.scheduled_spec_decode_tokens[request.request_id] = drafts
            request.spec_token_ids = []
        return token_budget
        ### END SOLUTION

    def _is_end_certain(self, request: Request) -> bool:
        """Tell whether the outputs in flight are sure to bring the request to `max_tokens`.

        >>> scheduler = AsyncScheduler(100, 32)
        >>> scheduler.add_request("a", num_prompt_tokens=5, max_tokens=1)
        >>> _ = scheduler.schedule()
        >>> scheduler.schedule().num_scheduled_tokens
        {}
        """
        ### BEGIN SOLUTION of all outputs counted on, exactly one is sure to come
        if request.num_output_placeholders == 0:
            return False
        num_certain_tokens = request.num_computed_tokens + 2 - request.num_output_placeholders
        return num_certain_tokens >= request.num_prompt_tokens + request.max_tokens
        ### END SOLUTION

    def _update_after_schedule(self, output: SchedulerOutput) -> None:
        """Count a step's tokens as computed and in flight, and count on what they will bring.

        >>> scheduler = AsyncScheduler(100, max_num_scheduled_tokens=8)
        >>> scheduler.add_request("a", num_prompt_tokens=11, max_tokens=9)
        >>> _ = scheduler.schedule()
        >>> scheduler.counters("a")["num_output_placeholders"]
        0
        >>> _ = scheduler.schedule()
        >>> scheduler.counters("a")["num_output_placeholders"]
        1
        """
        ### BEGIN SOLUTION advance the counts; who is no chunk gets placeholders and drafts
        for request_id, num_tokens in output.num_scheduled_tokens.items():
            request = self.requests[request_id]
            request.num_computed_tokens += num_tokens
            request.num_in_flight_tokens += num_tokens
            num_expected_tokens = request.num_tokens + request.num_output_placeholders
            request.is_prefill_chunk = request.num_computed_tokens < num_expected_tokens
            if not request.is_prefill_chunk:
                drafts = output.scheduled_spec_decode_tokens.get(request_id, [])
                request.num_output_placeholders += 1 + len(drafts)
                request.spec_token_ids = [-1] * self.num_spec_tokens
        ### END SOLUTION

    def _must_wait(self, request: Request) -> bool:
        """Tell whether a request must not be admitted yet, because an output is still to come."""
        ### BEGIN SOLUTION stale outputs that will be delivered come first
        return request.num_stale_output_tokens > 0 and not request.drop_stale_output
        ### END SOLUTION

    def preempt(self, request_id: str, drop_stale_output: bool = False) -> None:
        """Send a running request back to the front of `waiting`; it starts from zero again.

        Args:
            request_id: a request that is running.
            drop_stale_output: whether what it has in flight is thrown away. If not, it is
                delivered, and the request waits for it.

        >>> scheduler = AsyncScheduler(100, 32)
        >>> scheduler.add_request("a", num_prompt_tokens=5, max_tokens=9)
        >>> _ = scheduler.schedule()
        >>> scheduler.preempt("a")
        >>> scheduler.schedule().num_scheduled_tokens
        {}
        >>> scheduler.update_from_output({"a": [7]})
        {'a': [7]}
        >>> _ = scheduler.update_from_output({})
        >>> scheduler.schedule().num_scheduled_tokens
        {'a': 6}
        """
        ### BEGIN SOLUTION all that is in flight is stale; all counts but that start over
        request = self.requests[request_id]
        self.running.remove(request)
        self.waiting.appendleft(request)
        still_dropping = request.drop_stale_output and request.num_stale_output_tokens > 0
        request.drop_stale_output = drop_stale_output or still_dropping
        request.num_stale_output_tokens = request.num_in_flight_tokens
        request.num_computed_tokens = 0
        request.num_output_placeholders = 0
        request.spec_token_ids = []
        ### END SOLUTION

    def update_from_output(self, sampled: dict[str, list[int]]) -> dict[str, list[int]]:
        """Take in what the oldest step in flight sampled, and end the requests that are over.

        Args:
            sampled: request id -> the accepted drafts and one token more. No entry, or an empty
                one, for a request that sampled nothing.

        Returns:
            request id -> the tokens that were appended, at least one, in the order of the step.

        >>> scheduler = AsyncScheduler(100, 32)
        >>> scheduler.add_request("a", num_prompt_tokens=5, max_tokens=9, eos_token_id=2)
        >>> _ = scheduler.schedule(), scheduler.schedule()
        >>> scheduler.update_from_output({"a": [2]})
        {'a': [2]}
        >>> scheduler.update_from_output({"a": [3]})
        {}
        """
        ### BEGIN SOLUTION settle what was in flight; drop, or append, and correct the counts
        output = self.in_flight.popleft()
        delivered: dict[str, list[int]] = {}
        for request_id, num_tokens in output.num_scheduled_tokens.items():
            request = self.requests.get(request_id)
            if request is None:
                continue
            is_stale = self._settle(request, num_tokens)
            if is_stale and request.drop_stale_output:
                continue
            token_ids = sampled.get(request_id, [])
            if not token_ids:
                continue

            if not is_stale:
                drafts = output.scheduled_spec_decode_tokens.get(request_id, [])
                num_rejected = len(drafts) - (len(token_ids) - 1)
                request.num_computed_tokens -= num_rejected
                request.num_output_placeholders -= num_rejected
            delivered[request_id] = self._append(request, token_ids)
            if not is_stale:
                request.num_output_placeholders -= len(delivered[request_id])
            if request.is_over:
                self._finish(request)
        return delivered
        ### END SOLUTION

    def _settle(self, request: Request, num_tokens: int) -> bool:
        """Count tokens of a step as in flight no more; tell whether they were stale."""
        ### BEGIN SOLUTION the oldest tokens come back first, so the stale ones do
        request.num_in_flight_tokens -= num_tokens
        if request.num_stale_output_tokens == 0:
            return False
        request.num_stale_output_tokens -= num_tokens
        return True
        ### END SOLUTION

    def _append(self, request: Request, token_ids: list[int]) -> list[int]:
        """Append tokens until one ends the request; return those that were appended."""
        ### BEGIN SOLUTION one token at a time, with is_over after each
        for num_new_tokens, token_id in enumerate(token_ids, start=1):
            request.output_token_ids.append(token_id)
            if request.is_over:
                return token_ids[:num_new_tokens]
        return token_ids
        ### END SOLUTION
