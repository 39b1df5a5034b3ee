"""Lets a submission's ``Scheduler`` decide the engine's steps."""

from dataclasses import replace
from typing import Any

from grader.parts.following import FollowingWalks
from reference.config import EngineConfig
from reference.engine import Parts
from reference.request import Request
from reference.scheduler import Scheduler


class Deciding(FollowingWalks):
    """The lesson knows no memory, cache, priorities or drafts, and no end but that by length."""

    def __init__(
        self, lesson: Any, config: EngineConfig, manager: Any, *args: Any, **options: Any
    ) -> None:
        super().__init__(config, manager, *args, **options)
        self.follows = (
            config.policy == "fcfs"
            and not config.enable_prefix_caching
            and not config.watermark
            and not config.num_speculative_tokens
            and config.kv_cache_groups is None
        )
        self.theirs = lesson.Scheduler(
            config.max_num_seqs,
            config.max_num_batched_tokens,
            config.max_num_scheduled_tokens,
            config.max_model_len,
            config.long_prefill_token_threshold,
            config.enable_chunked_prefill,
        )

    def add_request(self, request: Request) -> None:
        super().add_request(request)
        self.follows &= not request.status.is_blocked
        self.theirs.add_request(request.request_id, request.num_prompt_tokens, request.max_tokens)


def install(parts: Parts, lesson: Any) -> Parts:
    def scheduler(*args: Any, **options: Any) -> Scheduler:
        return Deciding(lesson, *args, **options)

    return replace(parts, scheduler=scheduler)
