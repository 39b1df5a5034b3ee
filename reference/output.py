"""What a step decides (for the model), and what comes of it (for the clients)."""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from reference.stats import SchedulerStats
from reference.trace import BlockIds

#: Stands for a draft that the scheduler does not know, or that there is not.
DRAFT_PLACEHOLDER = -1


class FinishReason(IntEnum):
    """Why a request ended, as its client is told."""

    STOP = 0
    LENGTH = 1
    ABORT = 2
    ERROR = 3
    REPETITION = 4

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(slots=True)
class SchedulerOutput:
    """One step's work for the model.

    Attributes:
        num_scheduled_tokens: tokens to compute of each request, running ones first.
        num_computed_tokens: tokens computed before, of each of these requests.
        scheduled_spec_decode_tokens: drafts among the tokens to compute.
        scheduled_new_reqs, scheduled_resumed_reqs: ids of those admitted, in order.
        block_ids: whole block table of each admitted request; where layers are grouped, a list of
            tables, and so in ``new_block_ids``.
        new_block_ids: blocks to append to the tables of the others; none, no entry.
        num_cached_tokens: prefix hit of each admitted request, in tokens.
        preempted_req_ids, finished_req_ids: whose state the model may drop.
        num_common_prefix_blocks: leading blocks that all running requests share, of each group
            where layers are grouped.
    """

    num_scheduled_tokens: dict[str, int] = field(default_factory=dict)
    num_computed_tokens: dict[str, int] = field(default_factory=dict)
    scheduled_spec_decode_tokens: dict[str, list[int]] = field(default_factory=dict)
    scheduled_new_reqs: list[str] = field(default_factory=list)
    scheduled_resumed_reqs: list[str] = field(default_factory=list)
    block_ids: dict[str, BlockIds] = field(default_factory=dict)
    new_block_ids: dict[str, BlockIds] = field(default_factory=dict)
    num_cached_tokens: dict[str, int] = field(default_factory=dict)
    preempted_req_ids: set[str] = field(default_factory=set)
    finished_req_ids: set[str] = field(default_factory=set)
    num_common_prefix_blocks: int | list[int] = 0

    @property
    def total_num_scheduled_tokens(self) -> int:
        """Tokens of the whole step."""
        return sum(self.num_scheduled_tokens.values())


#: The candidates for one token, the sampled one first: their log probabilities and ranks.
TokenLogprobs = dict[int, tuple[float, int]]


@dataclass(slots=True)
class EngineCoreOutput:
    """What one step adds to one request; ``new_logprobs`` has an entry for each new token."""

    request_id: str
    new_token_ids: list[int]
    new_logprobs: list[TokenLogprobs] | None = None
    finish_reason: FinishReason | None = None
    stop_reason: int | str | None = None

    @property
    def finished(self) -> bool:
        """Whether the engine core is done with the request."""
        return self.finish_reason is not None


@dataclass(slots=True)
class UtilityOutput:
    """The answer to a utility call; with a ``failure_message`` there is no result."""

    call_id: int
    failure_message: str | None = None
    result: Any = None


@dataclass(slots=True)
class EngineCoreOutputs:
    """What one step has for one client; ``finished_requests`` only when the engine is asked to."""

    outputs: list[EngineCoreOutput] = field(default_factory=list)
    finished_requests: set[str] | None = None
    scheduler_stats: SchedulerStats | None = None
    utility_output: UtilityOutput | None = None
