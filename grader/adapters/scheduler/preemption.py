"""vLLM's own scheduler behind the lesson's interface, with the KV cache manager that it makes.

What is handed in only says how many blocks there are, and how they are used.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from vllm.sampling_params import SamplingParams
from vllm.utils.hashing import sha256
from vllm.v1 import request as real_request
from vllm.v1.core.kv_cache_utils import get_request_block_hasher

import grader

sys.path.append(str(Path(__file__).parents[3]))
grader.__path__.append(str(Path(__file__).parents[2]))
kit = import_module("grader.adapters.kit")

PRELOAD = ("vllm.config", "vllm.v1.core.sched.scheduler", "vllm.v1.request")

SKIPS = {
    "test_the_engine_runs_on_it": (
        "vLLM's scheduler makes its KV cache manager itself, so it cannot run on the one of "
        "another engine; here the manager is handed in (Your task)"
    )
}


@dataclass
class SchedulerOutput:
    num_scheduled_tokens: dict[str, int]
    preempted_req_ids: list[str]


@dataclass
class Request:
    """Only the stub has a use for it."""


class ExampleManager:
    def __init__(self, num_blocks: int, block_size: int) -> None:
        self._settings = {
            "num_gpu_blocks": num_blocks,
            "block_size": block_size,
            "enable_prefix_caching": False,
            "watermark": 0.0,
        }

    def settings(self) -> dict[str, Any]:
        return self._settings


class Scheduler:
    def __init__(
        self,
        kv_cache_manager: Any,
        max_num_seqs: int,
        max_num_batched_tokens: int,
        policy: str = "fcfs",
        scheduler_reserve_full_isl: bool = True,
        max_num_scheduled_tokens: int | None = None,
        max_model_len: int = 8192,
        long_prefill_token_threshold: int = 0,
        enable_chunked_prefill: bool = True,
        block_hasher: Callable[[list[int]], list[bytes]] | None = None,
    ) -> None:
        del block_hasher  # vLLM has one of its own
        settings = kv_cache_manager.settings()
        self._scheduler = kit.scheduler_of(
            **settings,
            max_num_seqs=max_num_seqs,
            max_num_batched_tokens=max_num_batched_tokens,
            policy=policy,
            scheduler_reserve_full_isl=scheduler_reserve_full_isl,
            max_num_scheduled_tokens=max_num_scheduled_tokens,
            max_model_len=max_model_len,
            long_prefill_token_threshold=long_prefill_token_threshold,
            enable_chunked_prefill=enable_chunked_prefill,
        )
        self._block_hasher = None
        if settings["enable_prefix_caching"]:
            self._block_hasher = get_request_block_hasher(settings["block_size"], sha256)

    def add_request(
        self,
        request_id: str,
        prompt_token_ids: list[int],
        max_tokens: int,
        priority: int = 0,
        arrival_time: float = 0.0,
    ) -> None:
        request = real_request.Request(
            request_id=request_id,
            prompt_token_ids=list(prompt_token_ids),
            sampling_params=SamplingParams(max_tokens=max_tokens, ignore_eos=True),
            pooling_params=None,
            priority=priority,
            arrival_time=arrival_time,
            block_hasher=self._block_hasher,
        )
        self._scheduler.add_request(request)

    def state(self) -> dict[str, Any]:
        scheduler, requests = self._scheduler, self._scheduler.requests
        manager = scheduler.kv_cache_manager
        return {
            "running": [request.request_id for request in scheduler.running],
            "waiting": [request.request_id for request in scheduler.waiting],
            "num_free_blocks": manager.block_pool.get_num_free_blocks(),
            "block_ids": {name: list(manager.get_block_ids(name)[0]) for name in requests},
            "num_computed_tokens": {n: r.num_computed_tokens for n, r in requests.items()},
            "num_preemptions": {n: r.num_preemptions for n, r in requests.items()},
        }

    def schedule(self) -> SchedulerOutput:
        self._output = self._scheduler.schedule()
        return SchedulerOutput(
            dict(self._output.num_scheduled_tokens),
            sorted(self._output.preempted_req_ids or ()),
        )

    def update_from_output(self, sampled: dict[str, list[int]]) -> None:
        model_output = kit.sampled_output(self._output.num_scheduled_tokens, sampled)
        self._scheduler.update_from_output(self._output, model_output)
