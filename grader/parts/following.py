"""What the parts of the scheduler's lessons share: an engine's scheduler that follows another.

A lesson leaves things out. From the first step that needs one of these on, the engine's own
scheduler decides, and the submission is asked no more.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reference.output import EngineCoreOutput, EngineCoreOutputs, FinishReason, SchedulerOutput
from reference.request import Request, RequestStatus
from reference.scheduler import Scheduler, ScheduleStep


class Following(Scheduler):
    """The engine's scheduler beside ``theirs``, which it follows as long as ``follows`` holds."""

    theirs: Any
    follows: bool

    def finish_requests(
        self, request_ids: str | Iterable[str] | None, finished_status: RequestStatus
    ) -> list[Request]:
        ended = super().finish_requests(request_ids, finished_status)
        self.follows &= not ended
        return ended

    def update_from_output(
        self, scheduler_output: SchedulerOutput, sampled_token_ids: Mapping[str, Sequence[int]]
    ) -> dict[int, EngineCoreOutputs]:
        if self.follows:
            self.theirs.update_from_output(
                {request_id: list(tokens) for request_id, tokens in sampled_token_ids.items()}
            )
        clients = super().update_from_output(scheduler_output, sampled_token_ids)
        outputs = [output for client in clients.values() for output in client.outputs]
        self.follows &= all(map(self.knows_end, outputs))
        return clients

    def knows_end(self, output: EngineCoreOutput) -> bool:
        """Whether the lesson knows how this request ended, if it did: by length alone."""
        return output.finish_reason in (None, FinishReason.LENGTH)


class FollowingWalks(Following):
    """Follows the number of tokens that ``theirs`` gives to each request.

    The lesson knows no memory and no cache: there must be blocks for all that it decides.
    """

    def _schedule_running(self, step: ScheduleStep) -> None:
        if self.follows:
            theirs = self.theirs.schedule()
            self.follows = self.fits(theirs.num_scheduled_tokens)
        if not self.follows:
            super()._schedule_running(step)
            return
        for request_id, num_new in theirs.num_scheduled_tokens.items():
            self._carry_out(self.requests[request_id], num_new, step.output)
        self.take_over(theirs, step.output)

    def _schedule_waiting(self, step: ScheduleStep) -> None:
        if not self.follows:
            super()._schedule_waiting(step)

    def take_over(self, theirs: Any, output: SchedulerOutput) -> None:
        """What else counts of the decisions ``theirs``; nothing here."""

    def fits(self, decided: Mapping[str, int]) -> bool:
        """Whether there are blocks for a step; an admission wants them for its whole prompt."""
        missing = 0
        for request_id, num_new in decided.items():
            request = self.requests[request_id]
            num_tokens = request.num_computed_tokens + num_new
            if request.is_waiting:
                num_tokens = request.num_tokens
            num_blocks = -(-num_tokens // self.config.block_size)
            missing += max(num_blocks - len(self.kv_cache_manager.get_block_ids(request_id)), 0)
        return missing <= len(self.kv_cache_manager.free_order())

    def _carry_out(self, request: Request, num_new: int, output: SchedulerOutput) -> None:
        request_id = request.request_id
        new_blocks = self.kv_cache_manager.allocate_slots(request, num_new) or []
        output.num_scheduled_tokens[request_id] = num_new
        output.num_computed_tokens[request_id] = request.num_computed_tokens
        request.spec_token_ids = []
        if request.status is RequestStatus.RUNNING:
            if new_blocks:
                output.new_block_ids[request_id] = new_blocks
            return
        self.waiting_queues.waiting.remove_request(request)
        self.running.append(request)
        request.status = RequestStatus.RUNNING
        output.scheduled_new_reqs.append(request_id)
        output.num_cached_tokens[request_id] = 0
        output.block_ids[request_id] = new_blocks
