"""Lets a submission's ``Scheduler`` decide the engine's steps."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from reference.config import EngineConfig
from reference.engine import Parts
from reference.output import EngineCoreOutputs, FinishReason, SchedulerOutput
from reference.request import Request, RequestStatus
from reference.scheduler import Scheduler, ScheduleStep


class Deciding(Scheduler):
    """The engine's scheduler, with the submission's in place of its two walks.

    The lesson knows no memory, no cache, no priorities, and no end but that by length. From the
    first step that needs one of these, the engine's own walks decide.
    """

    def __init__(
        self, lesson: Any, config: EngineConfig, manager: Any, *args: Any, **options: Any
    ) -> None:
        super().__init__(config, manager, *args, **options)
        self._follows = (
            config.policy == "fcfs" and not config.enable_prefix_caching and not config.watermark
        )
        self._theirs = lesson.Scheduler(
            config.max_num_seqs,
            config.max_num_batched_tokens,
            config.max_num_scheduled_tokens,
            config.max_model_len,
            config.long_prefill_token_threshold,
            config.enable_chunked_prefill,
        )

    def add_request(self, request: Request) -> None:
        super().add_request(request)
        self._follows &= not request.status.is_blocked
        self._theirs.add_request(request.request_id, request.num_prompt_tokens, request.max_tokens)

    def finish_requests(
        self, request_ids: str | Iterable[str] | None, finished_status: RequestStatus
    ) -> list[Request]:
        self._follows = False
        return super().finish_requests(request_ids, finished_status)

    def _schedule_running(self, step: ScheduleStep) -> None:
        decided: dict[str, int] = {}
        if self._follows:
            decided = self._theirs.schedule().num_scheduled_tokens
            self._follows = self._fits(decided)
        if not self._follows:
            super()._schedule_running(step)
            return
        for request_id, num_new in decided.items():
            self._carry_out(self.requests[request_id], num_new, step.output)

    def _schedule_waiting(self, step: ScheduleStep) -> None:
        if not self._follows:
            super()._schedule_waiting(step)

    def _fits(self, decided: Mapping[str, int]) -> bool:
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
        by_length = (None, FinishReason.LENGTH)
        outputs = [output for client in clients.values() for output in client.outputs]
        self._follows &= all(output.finish_reason in by_length for output in outputs)
        return clients


def install(parts: Parts, lesson: Any) -> Parts:
    def scheduler(*args: Any, **options: Any) -> Scheduler:
        return Deciding(lesson, *args, **options)

    return replace(parts, scheduler=scheduler)
