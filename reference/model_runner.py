"""What stands between a step's decisions and the model: block tables and inputs."""

from collections.abc import Mapping
from typing import Any

from reference.output import SchedulerOutput
from reference.request import Request
from reference.tape import Tape, TapeInput


class ModelRunner:
    """Keeps the block tables as the steps describe them, and runs the tape.

    The tables come from the scheduler's outputs alone: a block that an output does not name is
    never written or read.
    """

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._block_tables: dict[str, list[Any]] = {}

    def execute_model(
        self, output: SchedulerOutput, requests: Mapping[str, Request]
    ) -> dict[str, list[int]]:
        """The tokens that one step samples, by request.

        ``requests`` has all that the output names, with their tokens.
        """
        self._update_block_tables(output)
        return self._tape.execute(
            self._tape_input(output, requests[request_id])
            for request_id in output.num_scheduled_tokens
        )

    def _update_block_tables(self, output: SchedulerOutput) -> None:
        for request_id in output.finished_req_ids | output.preempted_req_ids:
            self._block_tables.pop(request_id, None)
        for request_id, block_ids in output.block_ids.items():
            self._block_tables[request_id] = list(block_ids)
        for request_id, block_ids in output.new_block_ids.items():
            self._block_tables[request_id].extend(block_ids)

    def _tape_input(self, output: SchedulerOutput, request: Request) -> TapeInput:
        request_id = request.request_id
        drafts = output.scheduled_spec_decode_tokens.get(request_id, [])
        num_outputs = request.num_output_tokens
        params = request.sampling_params
        return TapeInput(
            request_id=request_id,
            token_ids=request.all_token_ids + drafts,
            block_ids=self._block_tables[request_id],
            num_computed_tokens=output.num_computed_tokens[request_id],
            num_new_tokens=output.num_scheduled_tokens[request_id],
            num_drafts=len(drafts),
            forbidden_token_ids=params.forbidden_token_ids(num_outputs),
            num_restricted=max(params.min_tokens - num_outputs, 0),
        )
