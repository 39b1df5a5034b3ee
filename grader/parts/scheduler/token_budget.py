"""Lets a submission's ``Scheduler`` decide the engine's steps, where memory never runs out."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from reference.config import EngineConfig
from reference.engine import Parts
from reference.output import EngineCoreOutputs, SchedulerOutput
from reference.request import Request, RequestStatus
from reference.scheduler import Scheduler, ScheduleStep


class Deciding(Scheduler):
    """The engine's scheduler, with the submission's in place of its two walks.

    The submission knows no blocks and no stop tokens, so its requests end by their length alone.
    """

    def __init__(
        self, lesson: Any, config: EngineConfig, manager: Any, *args: Any, **options: Any
    ) -> None:
        super().__init__(config, manager, *args, **options)
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
        self._theirs.add_request(request.request_id, request.num_prompt_tokens, request.max_tokens)

    def _schedule_running(self, step: ScheduleStep) -> None:
        for request_id, num_new in self._theirs.schedule().num_scheduled_tokens.items():
            self._carry_out(self.requests[request_id], num_new, step.output)

    def _schedule_waiting(self, step: ScheduleStep) -> None:
        """Nothing: the submission has decided on these as well."""

    def _carry_out(self, request: Request, num_new: int, output: SchedulerOutput) -> None:
        request_id = request.request_id
        new_blocks = self.kv_cache_manager.allocate_slots(request, num_new)
        if new_blocks is None:
            raise MemoryError(
                f"no blocks are left for request {request_id}: this lesson's scheduler takes "
                "memory to be unlimited; run it on a workload with a larger num_gpu_blocks"
            )
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
        self._theirs.update_from_output(
            {request_id: list(token_ids) for request_id, token_ids in sampled_token_ids.items()}
        )
        return super().update_from_output(scheduler_output, sampled_token_ids)


def install(parts: Parts, lesson: Any) -> Parts:
    def scheduler(*args: Any, **options: Any) -> Scheduler:
        return Deciding(lesson, *args, **options)

    return replace(parts, scheduler=scheduler)
