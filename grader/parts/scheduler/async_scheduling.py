"""Lets a submission's ``AsyncScheduler`` decide the engine's steps under async scheduling."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from grader.parts.following import FollowingWalks
from reference.async_scheduler import AsyncScheduler
from reference.config import EngineConfig
from reference.engine import Parts
from reference.output import EngineCoreOutput, FinishReason, SchedulerOutput
from reference.request import Request

ENDS = ((FinishReason.LENGTH, None), (FinishReason.STOP, None))


class Deciding(FollowingWalks, AsyncScheduler):
    """The lesson knows no memory, cache, seats or priorities, and no end but that by length and
    by the end of the sequence."""

    def __init__(
        self, lesson: Any, config: EngineConfig, manager: Any, *args: Any, **options: Any
    ) -> None:
        super().__init__(config, manager, *args, **options)
        self.follows = (
            config.policy == "fcfs"
            and not config.enable_prefix_caching
            and not config.watermark
            and not config.long_prefill_token_threshold
            and config.enable_chunked_prefill
            and config.kv_cache_groups is None
        )
        self.theirs = lesson.AsyncScheduler(
            config.max_model_len,
            min(config.token_budget, config.max_num_batched_tokens),
            config.num_speculative_tokens,
        )

    def add_request(self, request: Request) -> None:
        super().add_request(request)
        self.follows &= not request.status.is_blocked
        # Beside decodes with drafts the engine pads a prompt of one token.
        self.follows &= request.num_prompt_tokens > 1 or not self.config.num_speculative_tokens
        self.theirs.add_request(
            request.request_id,
            request.num_prompt_tokens,
            request.max_tokens,
            request.sampling_params.eos_token_id,
        )

    def _preempt_request(self, request: Request, drop_stale_output: bool = False) -> None:
        self.follows = False
        super()._preempt_request(request, drop_stale_output)

    def take_over(self, theirs: Any, output: SchedulerOutput) -> None:
        output.scheduled_spec_decode_tokens = theirs.scheduled_spec_decode_tokens

    def fits(self, decided: Mapping[str, int]) -> bool:
        num_admitted = sum(self.requests[request_id].is_waiting for request_id in decided)
        has_seats = len(self.running) + num_admitted <= self.config.max_num_seqs
        return has_seats and super().fits(decided)

    def knows_end(self, output: EngineCoreOutput) -> bool:
        ended = output.finish_reason is not None
        return not ended or (output.finish_reason, output.stop_reason) in ENDS


def install(parts: Parts, lesson: Any) -> Parts:
    def async_scheduler(*args: Any, **options: Any) -> AsyncScheduler:
        return Deciding(lesson, *args, **options)

    return replace(parts, async_scheduler=async_scheduler)
