"""What several adapters share: requests and schedulers of the real vLLM, small and plain.

An adapter is loaded by a worker in the oracle's environment, to which the repository is unknown.
Like `grader/oracle/entry.py` it makes itself acquainted, then imports this module. What it names
in `PRELOAD` is imported once for all its sessions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from vllm.sampling_params import SamplingParams
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.kv_cache_interface import KVCacheConfig, KVCacheGroupSpec
from vllm.v1.outputs import DraftTokenIds, ModelRunnerOutput
from vllm.v1.request import Request

from grader.oracle.real_scheduler import build_kv_cache_spec, build_scheduler
from reference.config import EngineConfig

#: A pool that no lesson's workload fills.
PLENTY = {"block_size": 64, "num_gpu_blocks": 20_000, "enable_prefix_caching": False}


def scheduler_of(**limits: Any) -> Scheduler:
    """vLLM's own scheduler under these limits, the fields of `reference.config.EngineConfig`."""
    scheduler = build_scheduler(EngineConfig(**limits))
    # Statistics of drafts want to know in advance how many there will be.
    scheduler.log_stats = False
    return scheduler


def kv_cache_config_of(num_gpu_blocks: int, *block_sizes: int) -> KVCacheConfig:
    """vLLM's own description of so many blocks, for a full-attention group of each block size."""
    return KVCacheConfig(
        num_blocks=num_gpu_blocks,
        kv_cache_tensors=[],
        kv_cache_groups=[
            KVCacheGroupSpec([f"layer.{number}"], build_kv_cache_spec("full_attention", block_size))
            for number, block_size in enumerate(block_sizes)
        ],
    )


@cache
def prompt_of(num_tokens: int) -> list[int]:
    """So many prompt tokens, for those to whom it does not matter which."""
    return [0] * num_tokens


def request_of(
    request_id: str, num_prompt_tokens: int, params: SamplingParams, client_index: int = 0
) -> Request:
    """vLLM's own request; its prompt is as long as it says, and nothing else is known of it."""
    return Request(
        request_id=request_id,
        prompt_token_ids=prompt_of(num_prompt_tokens),
        sampling_params=params,
        pooling_params=None,
        client_index=client_index,
    )


def sampled_output(
    num_scheduled_tokens: Mapping[str, int], sampled: Mapping[str, Sequence[int]]
) -> ModelRunnerOutput:
    """What the model runner gives back of a step: no tokens for those that sampled none."""
    ids = list(num_scheduled_tokens)
    return ModelRunnerOutput(
        req_ids=ids,
        req_id_to_index={request_id: index for index, request_id in enumerate(ids)},
        sampled_token_ids=[list(sampled.get(request_id, ())) for request_id in ids],
    )


def drafts_of(draft_token_ids: Mapping[str, Sequence[int]]) -> DraftTokenIds:
    """Draft tokens by request, as vLLM passes them on."""
    return DraftTokenIds(list(draft_token_ids), [list(ids) for ids in draft_token_ids.values()])
