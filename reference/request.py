"""A request inside the engine: its tokens, and how far it has come."""

from collections.abc import Sequence
from enum import IntEnum
from typing import Protocol

from reference.output import FinishReason
from reference.sampling_params import SamplingParams


class RequestStatus(IntEnum):
    """Where a request stands. Everything after PREEMPTED is finished."""

    WAITING = 1
    WAITING_FOR_STRUCTURED_OUTPUT_GRAMMAR = 2
    WAITING_FOR_REMOTE_KVS = 3
    WAITING_FOR_STREAMING_REQ = 4
    RUNNING = 5
    PREEMPTED = 6
    FINISHED_STOPPED = 7
    FINISHED_LENGTH_CAPPED = 8
    FINISHED_ABORTED = 9
    FINISHED_IGNORED = 10
    FINISHED_ERROR = 11
    FINISHED_REPETITION = 12

    @property
    def is_finished(self) -> bool:
        """Whether the request has left the engine."""
        return self > RequestStatus.PREEMPTED

    @property
    def is_blocked(self) -> bool:
        """Whether it waits for something besides room."""
        return RequestStatus.WAITING < self < RequestStatus.RUNNING


FINISH_REASONS = {
    RequestStatus.FINISHED_STOPPED: FinishReason.STOP,
    RequestStatus.FINISHED_LENGTH_CAPPED: FinishReason.LENGTH,
    RequestStatus.FINISHED_ABORTED: FinishReason.ABORT,
    # Its prompt was too long: to the client that is a matter of length.
    RequestStatus.FINISHED_IGNORED: FinishReason.LENGTH,
    RequestStatus.FINISHED_ERROR: FinishReason.ERROR,
    RequestStatus.FINISHED_REPETITION: FinishReason.REPETITION,
}


class BlockHashes(Protocol):
    """Block hashes that grow with the tokens; ``RequestHashes`` is the engine's own."""

    @property
    def hash_block_size(self) -> int: ...
    @property
    def block_hashes(self) -> list[bytes]: ...
    def append(self, token_ids: Sequence[int]) -> None:
        """Adds tokens at the end."""


class StructuredOutputRequest:
    """A request's grammar: None while it is being compiled, an exception if that failed."""

    __slots__ = ("grammar",)

    def __init__(self, grammar: object = None) -> None:
        self.grammar = grammar


class Request:
    """One request. The scheduler alone changes it.

    ``hashes`` makes its block hashes; without one it has none and hits nothing. A request with a
    ``structured_output_request`` waits until its grammar is there.

    >>> request = Request("a", [5, 6, 7], SamplingParams(max_tokens=4))
    >>> request.append_output_token_id(8)
    >>> request.num_tokens, request.num_output_tokens, request.all_token_ids
    (4, 1, [5, 6, 7, 8])
    """

    __slots__ = (
        *("_hashes", "_next_full_block", "all_token_ids", "arrival_time", "block_hashes"),
        *("client_index", "drop_stale_output", "is_prefill_chunk", "max_tokens"),
        *("num_computed_tokens", "num_in_flight_tokens", "num_output_placeholders"),
        *("num_preemptions", "num_prompt_tokens", "num_stale_output_tokens", "num_tokens"),
        *("output_token_ids", "priority"),
        *("request_id", "sampling_params", "skip_reading_prefix_cache", "spec_token_ids"),
        *("status", "stop_reason", "structured_output_request"),
    )

    def __init__(
        self,
        request_id: str,
        prompt_token_ids: Sequence[int],
        sampling_params: SamplingParams,
        *,
        client_index: int = 0,
        arrival_time: float = 0.0,
        priority: int = 0,
        hashes: BlockHashes | None = None,
        structured_output_request: StructuredOutputRequest | None = None,
    ) -> None:
        self.request_id = request_id
        self.client_index = client_index
        self.priority = priority
        self.arrival_time = arrival_time
        self.sampling_params = sampling_params
        if sampling_params.max_tokens is None:
            raise ValueError("max_tokens is for the input processor to set")
        self.max_tokens = sampling_params.max_tokens
        self.skip_reading_prefix_cache = sampling_params.skip_reading_prefix_cache

        self.all_token_ids = list(prompt_token_ids)
        self.output_token_ids: list[int] = []
        self.num_prompt_tokens = self.num_tokens = len(self.all_token_ids)
        self.spec_token_ids: list[int] = []
        self.num_computed_tokens = 0
        # Computed as far as the scheduler is concerned, while their model still runs; those that
        # a preemption has overtaken; and the outputs that they are to come back with.
        self.num_in_flight_tokens = 0
        self.num_stale_output_tokens = 0
        self.drop_stale_output = False
        self.num_output_placeholders = 0
        self.num_preemptions = 0
        self.is_prefill_chunk = False
        self.stop_reason: int | str | None = None

        self.structured_output_request = structured_output_request
        self.status = RequestStatus.WAITING
        if structured_output_request is not None:
            self.status = RequestStatus.WAITING_FOR_STRUCTURED_OUTPUT_GRAMMAR

        self._hashes = hashes
        self.block_hashes: list[bytes] = []
        # The length at which the next block is full; 0 is never reached.
        self._next_full_block = 0
        if hashes is not None:
            self._read_block_hashes(hashes)

    @property
    def num_output_tokens(self) -> int:
        """Tokens put out so far."""
        return self.num_tokens - self.num_prompt_tokens

    @property
    def is_waiting(self) -> bool:
        """Whether it is to be admitted, for the first time or again."""
        return self.status is RequestStatus.WAITING or self.status is RequestStatus.PREEMPTED

    @property
    def is_finished(self) -> bool:
        """Whether it has left the engine."""
        return self.status.is_finished

    @property
    def finish_reason(self) -> FinishReason | None:
        """Why it ended, or None."""
        return FINISH_REASONS.get(self.status)

    def append_output_token_id(self, token_id: int) -> None:
        """Adds a token, and the hash of the block that it fills."""
        self.output_token_ids.append(token_id)
        self.all_token_ids.append(token_id)
        self.num_tokens += 1
        if self.num_tokens == self._next_full_block:
            self._hash_full_block()

    def _hash_full_block(self) -> None:
        hashes = self._hashes
        assert hashes is not None
        begin = self._next_full_block - hashes.hash_block_size
        # The prompt's tokens are in there already.
        begin = max(begin, self.num_prompt_tokens)
        hashes.append(self.all_token_ids[begin:])
        self._read_block_hashes(hashes)

    def _read_block_hashes(self, hashes: BlockHashes) -> None:
        self.block_hashes = hashes.block_hashes
        self._next_full_block = (len(self.block_hashes) + 1) * hashes.hash_block_size

    def __lt__(self, other: "Request") -> bool:
        """Whether it goes first under the priority policy: smaller is more urgent."""
        return self._urgency() < other._urgency()

    def _urgency(self) -> tuple[int, float, str]:
        return self.priority, self.arrival_time, self.request_id
