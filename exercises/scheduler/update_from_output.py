"""Update from output: take in the tokens that a step sampled, and end the requests that are over.

This is the second half of vLLM's step (vllm/v1/core/sched/scheduler.py, `Scheduler.
update_from_output` and `finish_requests`; vllm/v1/core/sched/utils.py, `check_stop`). You write
what says NotImplementedError; the data classes and the scheduling half are given.
"""

from collections import deque
from dataclasses import dataclass, field

FINISH_REASONS = {
    "FINISHED_STOPPED": "stop",
    "FINISHED_LENGTH_CAPPED": "length",
    "FINISHED_ABORTED": "abort",
    "FINISHED_REPETITION": "repetition",
}


@dataclass
class SamplingParams:
    """When a request's output ends.

    Attributes:
        max_tokens: most output tokens, at least 1.
        min_tokens: output tokens before repetition is looked for.
        eos_token_id: the end-of-sequence token; None if there is none, or it is to be ignored.
        stop_token_ids: further tokens that end the output.
        repetition_detection: `(max_pattern_size, min_pattern_size, min_count)`, or None.
    """

    max_tokens: int
    min_tokens: int = 0
    eos_token_id: int | None = None
    stop_token_ids: tuple[int, ...] = ()
    repetition_detection: tuple[int, int, int] | None = None


@dataclass
class EngineCoreOutput:
    """What one step has for one request's client.

    Attributes:
        request_id: the request.
        new_token_ids: the tokens that this step added, at least one.
        finish_reason: "stop", "length" or "repetition" if the request has ended, else None.
        stop_reason: the stop token, or "repetition_detected"; None for everything else.
    """

    request_id: str
    new_token_ids: list[int]
    finish_reason: str | None = None
    stop_reason: int | str | None = None


@dataclass
class SchedulerOutput:
    """What one step asks the model to do.

    Attributes:
        num_scheduled_tokens: request id -> tokens to compute.
        scheduled_spec_decode_tokens: request id -> drafts among them; none, no entry.
        finished_req_ids: requests that have ended since the step before.
    """

    num_scheduled_tokens: dict[str, int]
    scheduled_spec_decode_tokens: dict[str, list[int]]
    finished_req_ids: set[str]


@dataclass
class Request:
    """One request inside the scheduler. Counts are in tokens."""

    request_id: str
    num_prompt_tokens: int
    sampling_params: SamplingParams
    client_index: int = 0
    output_token_ids: list[int] = field(default_factory=list)
    num_computed_tokens: int = 0
    spec_token_ids: list[int] = field(default_factory=list)

    @property
    def num_tokens(self) -> int:
        """Tokens known so far: the prompt and the output."""
        return self.num_prompt_tokens + len(self.output_token_ids)


class KVCacheManager:
    """Stands in for the engine's in the examples: it only remembers whom it freed."""

    def __init__(self) -> None:
        self.freed: list[str] = []

    def free(self, request_id: str) -> None:
        """Take back all blocks of a request."""
        self.freed.append(request_id)


def check_sequence_repetition(
    token_ids: list[int], repetition_detection: tuple[int, int, int]
) -> bool:
    """Tell whether the tokens end in `min_count` copies of one pattern.

    Args:
        token_ids: output tokens, without the prompt.
        repetition_detection: `(max_pattern_size, min_pattern_size, min_count)`, sizes in tokens.

    >>> check_sequence_repetition([9, 1, 2, 1, 2], (3, 1, 2))
    True
    >>> check_sequence_repetition([1, 2, 1, 2, 9], (3, 1, 2))
    False
    """
    raise NotImplementedError(
        "check_sequence_repetition: try each size; compare the tail with copies of a pattern"
    )


def check_stop(
    output_token_ids: list[int],
    num_prompt_tokens: int,
    params: SamplingParams,
    max_model_len: int,
) -> tuple[str | None, int | str | None]:
    """Tell whether the token appended last ends the request.

    Args:
        output_token_ids: output tokens, at least one.
        num_prompt_tokens: length of the prompt, in tokens.
        params: the request's rules.
        max_model_len: longest sequence (prompt and output), in tokens.

    Returns:
        The finished status (a key of FINISH_REASONS) and the stop reason; `(None, None)` if the
        request goes on.

    >>> params = SamplingParams(max_tokens=3, eos_token_id=2, stop_token_ids=(50, 51))
    >>> check_stop([7, 51], 4, params, max_model_len=100)
    ('FINISHED_STOPPED', 51)
    >>> check_stop([7, 8, 9], 4, params, max_model_len=100)
    ('FINISHED_LENGTH_CAPPED', None)
    >>> check_stop([7, 8], 4, params, max_model_len=100)
    (None, None)
    """
    raise NotImplementedError(
        "check_stop: end of sequence, stop tokens, length, min_tokens, repetition"
    )


class Scheduler:
    """Schedule everything in every step (given), and take in what comes back (yours).

    Args:
        max_model_len: longest sequence (prompt and output), in tokens.
        kv_cache_manager: holds the requests' blocks; `free(request_id)` takes them back.

    A request that asks for two tokens:

    >>> manager = KVCacheManager()
    >>> scheduler = Scheduler(max_model_len=100, kv_cache_manager=manager)
    >>> scheduler.add_request("a", 4, SamplingParams(max_tokens=2))
    >>> scheduler.schedule().num_scheduled_tokens
    {'a': 4}
    >>> scheduler.update_from_output({"a": [7]})
    {0: [EngineCoreOutput(request_id='a', new_token_ids=[7], finish_reason=None, stop_reason=None)]}
    >>> scheduler.schedule().num_scheduled_tokens
    {'a': 1}
    >>> outputs = scheduler.update_from_output({"a": [8]})
    >>> outputs[0][0].finish_reason, manager.freed
    ('length', ['a'])
    >>> scheduler.schedule().finished_req_ids
    {'a'}
    """

    def __init__(self, max_model_len: int, kv_cache_manager: KVCacheManager) -> None:
        self.max_model_len = max_model_len
        self.kv_cache_manager = kv_cache_manager
        self.requests: dict[str, Request] = {}  # every unfinished request
        self.waiting: deque[Request] = deque()
        self.running: list[Request] = []
        self.finished_req_ids: set[str] = set()  # ended since the last schedule()
        self.scheduler_output = SchedulerOutput({}, {}, set())  # the last step's

    def add_request(
        self,
        request_id: str,
        num_prompt_tokens: int,
        sampling_params: SamplingParams,
        client_index: int = 0,
    ) -> None:
        """Put a new request at the end of `waiting` (given)."""
        request = Request(request_id, num_prompt_tokens, sampling_params, client_index)
        self.requests[request_id] = request
        self.waiting.append(request)

    def schedule(self) -> SchedulerOutput:
        """Admit everybody, schedule all tokens there are, hand out the ended ids (given)."""
        self.running.extend(self.waiting)
        self.waiting.clear()
        output = SchedulerOutput({}, {}, self.finished_req_ids)
        for request in self.running:
            num_tokens_with_spec = request.num_tokens + len(request.spec_token_ids)
            num_new_tokens = num_tokens_with_spec - request.num_computed_tokens
            if num_new_tokens <= 0:
                continue
            output.num_scheduled_tokens[request.request_id] = num_new_tokens
            request.num_computed_tokens += num_new_tokens
            if request.spec_token_ids:
                output.scheduled_spec_decode_tokens[request.request_id] = request.spec_token_ids
            request.spec_token_ids = []
        self.finished_req_ids = set()
        self.scheduler_output = output
        return output

    def update_draft_token_ids(self, draft_token_ids: dict[str, list[int]]) -> None:
        """Give decoding requests the drafts to verify in the next step (given)."""
        for request_id, spec_token_ids in draft_token_ids.items():
            if request_id in self.requests:
                self.requests[request_id].spec_token_ids = list(spec_token_ids)

    def update_from_output(
        self, sampled: dict[str, list[int]]
    ) -> dict[int, list[EngineCoreOutput]]:
        """Take in what the last step sampled, and end the requests that are over.

        Args:
            sampled: request id -> the accepted drafts and one more token. No entry, or an empty
                one, for a request that sampled nothing.

        Returns:
            client index -> what the step has for that client, in the order in which the
            requests were scheduled. Clients without output have no entry.

        >>> scheduler = Scheduler(100, KVCacheManager())
        >>> scheduler.add_request("a", 4, SamplingParams(max_tokens=9, eos_token_id=2))
        >>> _ = scheduler.schedule()
        >>> _ = scheduler.update_from_output({"a": [10]})
        >>> scheduler.update_draft_token_ids({"a": [11, 12, 13]})
        >>> scheduler.schedule().num_scheduled_tokens
        {'a': 4}
        >>> scheduler.update_from_output({"a": [11, 40]})[0][0].new_token_ids
        [11, 40]
        >>> scheduler.schedule().num_scheduled_tokens
        {'a': 1}
        """
        raise NotImplementedError(
            "Scheduler.update_from_output: walk over the step; roll back, append, emit, end"
        )

    def _append(
        self, request: Request, token_ids: list[int]
    ) -> tuple[list[int], str | None, int | str | None]:
        """Append tokens until one ends the request; return those appended, status, reason."""
        raise NotImplementedError(
            "Scheduler._append: one token at a time, with check_stop after each"
        )

    def finish_requests(self, request_ids: list[str] | None) -> None:
        """End requests from outside, as when their client has gone away.

        Args:
            request_ids: whom to end; None means all. Ids that are unknown, or have ended, are
                ignored, and so are repeated ones.

        >>> manager = KVCacheManager()
        >>> scheduler = Scheduler(100, manager)
        >>> scheduler.add_request("a", 4, SamplingParams(max_tokens=9))
        >>> _ = scheduler.schedule()
        >>> scheduler.finish_requests(["a", "nobody"])
        >>> scheduler.update_from_output({"a": [7]}), manager.freed
        ({}, ['a'])
        """
        raise NotImplementedError(
            "Scheduler.finish_requests: end each known request once; clear both queues of it"
        )

    def _free_request(self, request: Request) -> None:
        """Give the request's blocks back, report its end to the next step, and forget it."""
        raise NotImplementedError(
            "Scheduler._free_request: free the blocks, note the id, delete the request"
        )
