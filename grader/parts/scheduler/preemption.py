"""Lets a submission's ``Scheduler`` decide the engine's steps, preemptions included."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from grader.handing import hand_in
from grader.parts.following import Following
from reference.base_kv_cache_manager import BaseKVCacheManager
from reference.config import EngineConfig
from reference.engine import Parts
from reference.output import SchedulerOutput
from reference.request import Request, RequestStatus
from reference.scheduler import Scheduler

MANAGER_METHODS = (
    *("get_computed_blocks", "allocate_slots", "free"),
    *("get_block_ids", "free_order", "settings"),
)


@dataclass(frozen=True)
class CacheableSnapshot:
    """What the manager reads of a request: counts of the submission's, hashes of the engine's."""

    request_id: str
    num_tokens: int
    num_computed_tokens: int
    is_waiting: bool
    num_preemptions: int
    block_hashes: list[bytes]
    skip_reading_prefix_cache: bool


class Recording:
    """The engine's manager, as it is handed in; it notes what a step takes and gives back."""

    def __init__(self, manager: BaseKVCacheManager, requests: Mapping[str, Request]) -> None:
        self._manager = manager
        self._requests = requests
        self.new_blocks: dict[str, list[int]] = {}
        self.num_hit_tokens: dict[str, int] = {}
        self.freed: list[str] = []

    def begin_step(self) -> None:
        self.new_blocks, self.num_hit_tokens, self.freed = {}, {}, []

    def get_computed_blocks(self, request: Any) -> Any:
        return self._manager.get_computed_blocks(self._snapshot(request))

    def allocate_slots(
        self, request: Any, num_new_tokens: int, num_new_computed_tokens: int = 0, *args: Any,
        **options: Any,
    ) -> Any:  # fmt: skip
        new_blocks = self._manager.allocate_slots(
            self._snapshot(request), num_new_tokens, num_new_computed_tokens, *args, **options
        )
        if new_blocks is not None:
            self.new_blocks.setdefault(request.request_id, []).extend(new_blocks)
            self.num_hit_tokens[request.request_id] = num_new_computed_tokens
        return new_blocks

    def free(self, request_id: str) -> None:
        self._manager.free(request_id)
        self.new_blocks.pop(request_id, None)
        self.freed.append(request_id)

    def get_block_ids(self, request_id: str) -> Any:
        return self._manager.get_block_ids(request_id)

    def free_order(self) -> list[int]:
        return self._manager.free_order()

    def _snapshot(self, request: Any) -> CacheableSnapshot:
        own = self._requests[request.request_id]
        return CacheableSnapshot(
            request.request_id,
            request.num_tokens,
            request.num_computed_tokens,
            request.is_waiting,
            request.num_preemptions,
            own.block_hashes,
            own.skip_reading_prefix_cache,
        )


class Deciding(Following):
    """The lesson knows no drafts, no grammars, no aborts, and no end but that by length."""

    def __init__(
        self, lesson: Any, config: EngineConfig, manager: BaseKVCacheManager, *args: Any,
        **options: Any,
    ) -> None:  # fmt: skip
        super().__init__(config, manager, *args, **options)
        self.follows = not config.num_speculative_tokens and config.kv_cache_groups is None
        self._recording = Recording(manager, self.requests)
        self.theirs = lesson.Scheduler(
            hand_in(self._recording, *MANAGER_METHODS),
            config.max_num_seqs,
            config.max_num_batched_tokens,
            config.policy,
            config.scheduler_reserve_full_isl,
            config.max_num_scheduled_tokens,
            config.max_model_len,
            config.long_prefill_token_threshold,
            config.enable_chunked_prefill,
        )

    def add_request(self, request: Request) -> None:
        super().add_request(request)
        self.follows &= not request.status.is_blocked
        if self.follows:
            self.theirs.add_request(
                request.request_id,
                list(request.all_token_ids),
                request.max_tokens,
                request.priority,
                request.arrival_time,
            )

    def reset_prefix_cache(self, reset_running_requests: bool = False) -> bool:
        self.follows &= not reset_running_requests
        return super().reset_prefix_cache(reset_running_requests)

    def schedule(self) -> SchedulerOutput:
        if not self.follows:
            return super().schedule()
        self._recording.begin_step()
        decided = self.theirs.schedule()
        output = SchedulerOutput()
        for request_id in dict.fromkeys(self._recording.freed):
            if request_id in decided.preempted_req_ids:
                request = self.requests[request_id]
                self.running.remove(request)
                self._preempt_request(request)
        for request_id, num_new in decided.num_scheduled_tokens.items():
            self._carry_out(self.requests[request_id], num_new, output)
        output.preempted_req_ids = set(decided.preempted_req_ids)
        output.finished_req_ids = self.finished_req_ids
        self._preempted_req_ids, self.finished_req_ids = set(), set()
        self._update_after_schedule(output)
        return output

    def _carry_out(self, request: Request, num_new: int, output: SchedulerOutput) -> None:
        request_id = request.request_id
        new_blocks = self._recording.new_blocks[request_id]
        output.num_scheduled_tokens[request_id] = num_new
        if request.status is RequestStatus.RUNNING:
            if new_blocks:
                output.new_block_ids[request_id] = new_blocks
        else:
            self._admit(request, output)
        output.num_computed_tokens[request_id] = request.num_computed_tokens

    def _admit(self, request: Request, output: SchedulerOutput) -> None:
        request_id = request.request_id
        num_hit_tokens = self._recording.num_hit_tokens[request_id]
        self.kv_cache_manager.record_prefix_cache_stats(request, num_hit_tokens)
        is_new = request.status is RequestStatus.WAITING
        admitted = output.scheduled_new_reqs if is_new else output.scheduled_resumed_reqs
        admitted.append(request_id)
        output.num_cached_tokens[request_id] = num_hit_tokens
        output.block_ids[request_id] = self.kv_cache_manager.get_block_ids(request_id)
        self.waiting_queues.waiting.remove_request(request)
        self.running.append(request)
        request.status = RequestStatus.RUNNING
        request.num_computed_tokens = num_hit_tokens


def install(parts: Parts, lesson: Any) -> Parts:
    def scheduler(*args: Any, **options: Any) -> Scheduler:
        return Deciding(lesson, *args, **options)

    return replace(parts, scheduler=scheduler)
