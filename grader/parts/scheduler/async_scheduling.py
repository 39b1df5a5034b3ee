"""Lets a submission's ``AsyncScheduler`` decide the engine's steps under async scheduling."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from reference.async_scheduler import AsyncScheduler
from reference.config import EngineConfig
from reference.engine import Parts
from reference.output import EngineCoreOutputs, FinishReason, SchedulerOutput
from reference.request import Request, RequestStatus
from reference.scheduler import ScheduleStep

ENDS = ((FinishReason.LENGTH, None), (FinishReason.STOP, None))


class Deciding(AsyncScheduler):
    """The engine's async scheduler, with the submission's in place of its two walks.

    The lesson knows no memory, no cache, no seats, no priorities, and no end but that by length
    and by the end of the sequence. From the first step that needs one of these, the engine's own
    walks decide.
    """

    def __init__(
        self, lesson: Any, config: EngineConfig, manager: Any, *args: Any, **options: Any
    ) -> None:
        super().__init__(config, manager, *args, **options)
        self._follows = (
            config.policy == "fcfs"
            and not config.enable_prefix_caching
            and not config.watermark
            and not config.long_prefill_token_threshold
            and config.enable_chunked_prefill
            and config.kv_cache_groups is None
        )
        self._theirs = lesson.AsyncScheduler(
            config.max_model_len,
            min(config.token_budget, config.max_num_batched_tokens),
            config.num_speculative_tokens,
        )

    def add_request(self, request: Request) -> None:
        super().add_request(request)
        self._follows &= not request.status.is_blocked
        # Beside decodes with drafts the engine pads a prompt of one token.
        self._follows &= request.num_prompt_tokens > 1 or not self.config.num_speculative_tokens
        self._theirs.add_request(
            request.request_id,
            request.num_prompt_tokens,
            request.max_tokens,
            request.sampling_params.eos_token_id,
        )

    def finish_requests(
        self, request_ids: str | Iterable[str] | None, finished_status: RequestStatus
    ) -> list[Request]:
        self._follows = False
        return super().finish_requests(request_ids, finished_status)

    def _preempt_request(self, request: Request, drop_stale_output: bool = False) -> None:
        self._follows = False
        super()._preempt_request(request, drop_stale_output)

    def _schedule_running(self, step: ScheduleStep) -> None:
        if self._follows:
            theirs = self._theirs.schedule()
            decided = theirs.num_scheduled_tokens
            self._follows = self._fits(decided)
        if not self._follows:
            super()._schedule_running(step)
            return
        step.output.scheduled_spec_decode_tokens = theirs.scheduled_spec_decode_tokens
        for request_id, num_new in decided.items():
            self._carry_out(self.requests[request_id], num_new, step.output)

    def _schedule_waiting(self, step: ScheduleStep) -> None:
        if not self._follows:
            super()._schedule_waiting(step)

    def _fits(self, decided: Mapping[str, int]) -> bool:
        """Whether there are seats and blocks for a step; a prompt is admitted as a whole."""
        admitted = [i for i in decided if self.requests[i].is_waiting]
        if len(self.running) + len(admitted) > self.config.max_num_seqs:
            return False
        missing = 0
        for request_id, num_new in decided.items():
            request = self.requests[request_id]
            num_tokens = request.num_computed_tokens + num_new
            if request_id in admitted:
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

    def update_from_output(
        self, scheduler_output: SchedulerOutput, sampled_token_ids: Mapping[str, Sequence[int]]
    ) -> dict[int, EngineCoreOutputs]:
        if self._follows:
            self._theirs.update_from_output(
                {request_id: list(tokens) for request_id, tokens in sampled_token_ids.items()}
            )
        clients = super().update_from_output(scheduler_output, sampled_token_ids)
        outputs = [output for client in clients.values() for output in client.outputs]
        ended = [each for each in outputs if each.finish_reason is not None]
        self._follows &= all((each.finish_reason, each.stop_reason) in ENDS for each in ended)
        return clients


def install(parts: Parts, lesson: Any) -> Parts:
    def async_scheduler(*args: Any, **options: Any) -> AsyncScheduler:
        return Deciding(lesson, *args, **options)

    return replace(parts, async_scheduler=async_scheduler)
