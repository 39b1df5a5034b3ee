"""The scheduler that decides a step while the outputs of the one before are still to come."""

from collections.abc import Mapping, Sequence
from typing import Any

from reference.output import DRAFT_PLACEHOLDER, EngineCoreOutputs, SchedulerOutput
from reference.request import Request, RequestStatus
from reference.scheduler import Scheduler


class AsyncScheduler(Scheduler):
    """Counts on outputs before it has them: each has a placeholder until it comes back.

    Drafts are known to the model alone, so their place is held too. A preemption overtakes the
    outputs that are in flight: they are *stale*. They are still delivered, but the request's
    counts know nothing of them, and it waits until the last one is here; or, in drop mode, it
    need not wait and they are thrown away.
    """

    expects_outputs = True

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._draft_placeholders = [DRAFT_PLACEHOLDER] * self.config.num_speculative_tokens

    def _add_expected_outputs(self, request: Request, num_new: int) -> int:
        placeholders = request.num_output_placeholders
        if not placeholders:
            return num_new
        # One output of all those in flight is certain, the rest may be rejected drafts.
        num_certain = request.num_computed_tokens + 2 - placeholders
        if num_certain >= request.num_prompt_tokens + request.max_tokens:
            return 0
        return num_new + placeholders

    def _update_after_schedule(self, output: SchedulerOutput) -> None:
        drafts = output.scheduled_spec_decode_tokens
        for request_id, num_new in output.num_scheduled_tokens.items():
            request = self.requests[request_id]
            request.num_computed_tokens += num_new
            request.num_in_flight_tokens += num_new
            num_known = request.num_tokens + request.num_output_placeholders
            request.is_prefill_chunk = request.num_computed_tokens < num_known
            if not request.is_prefill_chunk:
                request.num_output_placeholders += 1 + len(drafts.get(request_id, ()))
                request.spec_token_ids = self._draft_placeholders

    def _preempt_request(self, request: Request, drop_stale_output: bool = False) -> None:
        # What is dropped once stays so: its positions have been sampled again.
        still_dropping = request.drop_stale_output and request.num_stale_output_tokens > 0
        super()._preempt_request(request, drop_stale_output or still_dropping)
        request.num_stale_output_tokens = request.num_in_flight_tokens
        request.num_output_placeholders = 0

    def _is_passed_over(self, request: Request) -> bool:
        # To resume now could sample a position once more that an output in flight is for.
        awaits_output = request.num_stale_output_tokens > 0 and not request.drop_stale_output
        return super()._is_passed_over(request) or awaits_output

    def update_from_output(
        self, scheduler_output: SchedulerOutput, sampled_token_ids: Mapping[str, Sequence[int]]
    ) -> dict[int, EngineCoreOutputs]:
        dropped = {
            request_id
            for request_id, num_tokens in scheduler_output.num_scheduled_tokens.items()
            if self._lands(request_id, num_tokens)
        }
        if dropped:
            kept = (item for item in sampled_token_ids.items() if item[0] not in dropped)
            sampled_token_ids = dict(kept)
        return super().update_from_output(scheduler_output, sampled_token_ids)

    def _lands(self, request_id: str, num_tokens: int) -> bool:
        """Counts tokens of a request as no longer in flight; whether to drop what they sampled."""
        request = self.requests.get(request_id)
        if request is None:
            return False
        request.num_in_flight_tokens -= num_tokens
        if not request.num_stale_output_tokens:
            return False
        request.num_stale_output_tokens -= num_tokens
        return request.drop_stale_output

    def _take_in(
        self, request: Request, sampled: Sequence[int], num_drafts: int
    ) -> tuple[list[int], bool]:
        if request.status is not RequestStatus.RUNNING:
            return self._take_in_stale(request, sampled)
        if num_drafts:
            request.num_output_placeholders -= num_drafts - (len(sampled) - 1)
        new_token_ids, is_stopped = super()._take_in(request, sampled, num_drafts)
        request.num_output_placeholders -= len(new_token_ids)
        self.kv_cache_manager.cache_blocks(
            request, request.num_computed_tokens - request.num_output_placeholders
        )
        return new_token_ids, is_stopped

    def _take_in_stale(self, request: Request, sampled: Sequence[int]) -> tuple[list[int], bool]:
        """Tokens of a request that was preempted meanwhile; its counts start from zero again."""
        new_token_ids, is_stopped = super()._take_in(request, sampled, num_drafts=0)
        if is_stopped:
            self.waiting_queues.remove_requests([request])
        return new_token_ids, is_stopped
