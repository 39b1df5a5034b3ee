"""What stands between a step's decisions and the model: block tables, tokens and inputs."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from reference.output import DRAFT_PLACEHOLDER, SchedulerOutput
from reference.sampling_params import SamplingParams
from reference.tape import Tape, TapeInput


class AdmittedRequest(Protocol):
    """What the runner reads of a request when it is admitted."""

    @property
    def all_token_ids(self) -> Sequence[int]: ...
    @property
    def num_prompt_tokens(self) -> int: ...
    @property
    def sampling_params(self) -> SamplingParams: ...


class RunningSequence:
    """A request's tokens as the model knows them, which may be before the scheduler does."""

    __slots__ = ("drafts", "num_computed_tokens", "num_prompt_tokens", "params", "token_ids")

    def __init__(self, request: AdmittedRequest, num_computed_tokens: int) -> None:
        self.token_ids = list(request.all_token_ids)
        self.num_prompt_tokens = request.num_prompt_tokens
        self.params = request.sampling_params
        self.num_computed_tokens = num_computed_tokens
        self.drafts: list[int] = []

    def take_in(self, num_new_tokens: int, sampled: Sequence[int], num_drafts: int) -> None:
        """Counts a step's tokens as computed, but for the drafts that were rejected."""
        self.num_computed_tokens += num_new_tokens
        if sampled:
            self.num_computed_tokens -= num_drafts - (len(sampled) - 1)
        self.token_ids.extend(sampled)
        self.drafts = []


class ModelRunner:
    """Keeps block tables and tokens as the steps describe them, and runs the tape.

    The tables come from the scheduler's outputs alone: a block that an output does not name is
    never written or read. Tokens come from the request when it is admitted, and then from the
    tape itself. After each output the tape makes ``num_speculative_tokens`` drafts.
    """

    def __init__(self, tape: Tape, num_speculative_tokens: int = 0) -> None:
        self._tape = tape
        self._num_speculative_tokens = num_speculative_tokens
        self._block_tables: dict[str, list[Any]] = {}
        self._sequences: dict[str, RunningSequence] = {}
        self._drafted: list[str] = []

    def execute_model(
        self, output: SchedulerOutput, requests: Mapping[str, AdmittedRequest]
    ) -> dict[str, list[int]]:
        """The tokens that one step samples, by request.

        ``requests`` has all that the output admits, with their tokens.
        """
        self._update_block_tables(output)
        for request_id in output.finished_req_ids:
            self._sequences.pop(request_id, None)
        for request_id in output.block_ids:
            num_computed = output.num_computed_tokens[request_id]
            self._sequences[request_id] = RunningSequence(requests[request_id], num_computed)
        inputs = [
            self._tape_input(output, request_id) for request_id in output.num_scheduled_tokens
        ]
        sampled = self._tape.execute(inputs)
        for each in inputs:
            sequence = self._sequences[each.request_id]
            sequence.take_in(each.num_new_tokens, sampled[each.request_id], each.num_drafts)
        if self._num_speculative_tokens:
            self._draft([request_id for request_id, tokens in sampled.items() if tokens])
        return sampled

    def take_draft_token_ids(self) -> dict[str, list[int]]:
        """The drafts that the last step made, by request."""
        return {request_id: self._sequences[request_id].drafts for request_id in self._drafted}

    def _draft(self, request_ids: list[str]) -> None:
        self._drafted = request_ids
        for request_id in request_ids:
            sequence = self._sequences[request_id]
            sequence.drafts = self._tape.draft(sequence.token_ids, self._num_speculative_tokens)

    def _update_block_tables(self, output: SchedulerOutput) -> None:
        for request_id in output.finished_req_ids | output.preempted_req_ids:
            self._block_tables.pop(request_id, None)
        for request_id, block_ids in output.block_ids.items():
            self._block_tables[request_id] = list(block_ids)
        for request_id, block_ids in output.new_block_ids.items():
            self._block_tables[request_id].extend(block_ids)

    def _tape_input(self, output: SchedulerOutput, request_id: str) -> TapeInput:
        sequence = self._sequences[request_id]
        drafts = output.scheduled_spec_decode_tokens.get(request_id, [])
        if DRAFT_PLACEHOLDER in drafts and sequence.drafts:
            # The scheduler left room for them without knowing them.
            drafts = sequence.drafts[: len(drafts)]
        params = sequence.params
        num_outputs = len(sequence.token_ids) - sequence.num_prompt_tokens
        return TapeInput(
            request_id=request_id,
            token_ids=sequence.token_ids + drafts if drafts else sequence.token_ids,
            block_ids=self._block_tables[request_id],
            num_computed_tokens=sequence.num_computed_tokens,
            num_new_tokens=output.num_scheduled_tokens[request_id],
            num_drafts=len(drafts),
            forbidden_token_ids=params.forbidden_token_ids(num_outputs),
            num_restricted=max(params.min_tokens - num_outputs, 0),
        )
