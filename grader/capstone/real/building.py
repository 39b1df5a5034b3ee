"""vLLM's scheduler and requests, built from a workload under any release from 0.10.0 to 0.32.0.

What a release does not know of is left away: its fields and parameters are looked up first. A
limit that matters to a scenario and that the release has not cannot be left away silently: those
are named in MUST_HOLD.
"""

from __future__ import annotations

import inspect
import json
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from vllm.config import CacheConfig, DeviceConfig, ModelConfig, SchedulerConfig, VllmConfig
from vllm.sampling_params import SamplingParams
from vllm.v1 import kv_cache_interface
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
from vllm.v1.request import Request, RequestStatus

from reference.config import EngineConfig
from reference.workload import Workload, WorkloadRequest

HASH_NAME = "sha256"
MUST_HOLD = ("max_num_seqs", "max_num_batched_tokens", "long_prefill_token_threshold", "policy")
#: So small that its configuration alone matters; no weight of it is ever made.
_TINY_LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "vocab_size": 512,
    "max_position_embeddings": 1 << 20,
    "torch_dtype": "float32",
}


def known(callable_: Callable[..., Any], **values: Any) -> Any:
    """A call with those of the arguments that this release's callable takes."""
    parameters = inspect.signature(callable_).parameters
    return callable_(**{name: value for name, value in values.items() if name in parameters})


class AnyTokens:
    """Stands in for the structured output manager: accepts whatever was sampled."""

    def __getattr__(self, _name: str) -> Callable[..., bool]:
        return lambda *_args, **_kwargs: True

    def should_advance(self, *_args: Any, **_kwargs: Any) -> bool:
        return False

    def grammar_init(self, _request: Request) -> None:
        """The scenario says when a grammar is ready."""


def hash_function() -> Any:
    """SHA-256 of a pickle, from where this release has it."""
    try:
        from vllm.utils.hashing import get_hash_fn_by_name
    except ImportError:
        from vllm.utils import get_hash_fn_by_name
    return get_hash_fn_by_name(HASH_NAME)


@cache
def prepare() -> None:
    """What vLLM wants done once in a process before anything is hashed."""
    os.environ.pop("PYTHONHASHSEED", None)
    init_none_hash(hash_function())


def tiny_model(max_model_len: int, **more: Any) -> ModelConfig:
    """The configuration of a model that is never made."""
    folder = Path(tempfile.gettempdir()) / "vllmlings-tiny-llama"
    folder.mkdir(exist_ok=True)
    text = json.dumps(_TINY_LLAMA)
    config = folder / "config.json"
    if not config.exists() or config.read_text() != text:
        config.write_text(text)
    return ModelConfig(
        model=str(folder),
        skip_tokenizer_init=True,
        dtype="float32",
        max_model_len=max_model_len,
        **more,
    )


def build_vllm_config(engine: EngineConfig, fields: dict[str, Any]) -> VllmConfig:
    """vLLM's whole configuration; `fields` are more of its scheduler's."""
    cache_config = CacheConfig(
        block_size=engine.block_size,
        enable_prefix_caching=engine.enable_prefix_caching,
        prefix_caching_hash_algo=HASH_NAME,
    )
    scheduler_config = _scheduler_config(engine, fields)
    config = VllmConfig(
        model_config=tiny_model(engine.max_model_len),
        cache_config=cache_config,
        scheduler_config=scheduler_config,
        device_config=DeviceConfig("cpu"),
    )
    cache_config.num_gpu_blocks = engine.num_gpu_blocks
    # On a CPU some releases turn these off, or to a size of their own, whatever they are told.
    cache_config.enable_prefix_caching = engine.enable_prefix_caching
    cache_config.block_size = engine.block_size
    scheduler_config.async_scheduling = False
    return config


def _scheduler_config(engine: EngineConfig, fields: dict[str, Any]) -> SchedulerConfig:
    wanted = {
        "max_model_len": engine.max_model_len,
        "is_encoder_decoder": False,
        "max_num_seqs": engine.max_num_seqs,
        "max_num_batched_tokens": engine.max_num_batched_tokens,
        "long_prefill_token_threshold": engine.long_prefill_token_threshold,
        "enable_chunked_prefill": engine.enable_chunked_prefill,
        "policy": engine.policy,
        "scheduler_reserve_full_isl": engine.scheduler_reserve_full_isl,
        "watermark": engine.watermark,
        "async_scheduling": False,
    }
    config = known(SchedulerConfig, **wanted)
    for name, value in fields.items():
        if not hasattr(config, name):
            raise ValueError(f"this release's scheduler has no {name}")
        setattr(config, name, value)
    for name in MUST_HOLD:
        if getattr(config, name) != getattr(engine, name):
            raise ValueError(f"this release does not take {name}={getattr(engine, name)!r}")
    return config


def build_spec(kind: str, block_size: int, **size: int) -> Any:
    """vLLM's spec of layers of one kind."""
    classes = {
        "full_attention": "FullAttentionSpec",
        "sliding_window": "SlidingWindowSpec",
        "chunked_local_attention": "ChunkedLocalAttentionSpec",
    }
    spec = getattr(kv_cache_interface, classes[kind])
    return known(
        spec,
        block_size=block_size,
        num_kv_heads=1,
        head_size=1,
        dtype=torch.float32,
        use_mla=False,
        **size,
    )


def build_kv_cache_config(engine: EngineConfig) -> Any:
    """vLLM's description of the pool and of the groups of layers that share it."""
    groups = engine.kv_cache_groups
    plain = [{"kind": "full_attention", "block_size": engine.block_size}]
    specs = plain if groups is None else [spec.to_dict() for spec in groups]
    return known(
        kv_cache_interface.KVCacheConfig,
        num_blocks=engine.num_gpu_blocks,
        kv_cache_tensors=[],
        kv_cache_groups=[
            kv_cache_interface.KVCacheGroupSpec([f"layer.{number}"], build_spec(**spec))
            for number, spec in enumerate(specs)
        ],
        prefix_cache_retention_interval=engine.prefix_cache_retention_interval,
    )


def build_scheduler(engine: EngineConfig, fields: dict[str, Any]) -> Any:
    """This release's `Scheduler` under the limits of `engine`."""
    from vllm.v1.core.sched.scheduler import Scheduler

    prepare()
    return known(
        Scheduler,
        vllm_config=build_vllm_config(engine, fields),
        kv_cache_config=build_kv_cache_config(engine),
        structured_output_manager=AnyTokens(),
        block_size=engine.scheduler_block_size,
        hash_block_size=engine.hash_block_size,
        log_stats=True,
    )


def build_request(request: WorkloadRequest, workload: Workload, **more: Any) -> Request:
    """This release's `Request`."""
    eos = workload.model.eos_token_id
    hasher = None
    if workload.engine.enable_prefix_caching:
        hasher = get_request_block_hasher(workload.engine.hash_block_size, hash_function())
    real = known(
        Request,
        request_id=request.id,
        prompt_token_ids=list(request.prompt_token_ids),
        sampling_params=_sampling_params(request, workload),
        pooling_params=None,
        eos_token_id=eos,
        arrival_time=request.arrival_time,
        priority=request.priority,
        block_hasher=hasher,
        **more,
    )
    if request.grammar is not None:
        real.status = waiting_for_grammar()
        real.structured_output_request = SimpleNamespace(grammar=None)
    return real


def waiting_for_grammar() -> Any:
    """The status, which has had two names."""
    for name in ("WAITING_FOR_STRUCTURED_OUTPUT_GRAMMAR", "WAITING_FOR_FSM"):
        if hasattr(RequestStatus, name):
            return getattr(RequestStatus, name)
    raise ValueError("this release knows no grammars")


def _sampling_params(request: WorkloadRequest, workload: Workload) -> SamplingParams:
    wanted = request.sampling_params
    params = SamplingParams(
        max_tokens=wanted.max_tokens,
        min_tokens=wanted.min_tokens,
        stop_token_ids=list(wanted.stop_token_ids),
        ignore_eos=wanted.eos_token_id is None,
        detokenize=False,
        **_repetition(request),
    )
    params.update_from_generation_config({}, workload.model.eos_token_id)
    return params


def _repetition(request: WorkloadRequest) -> dict[str, Any]:
    wanted = request.sampling_params.repetition_detection
    if wanted is None:
        return {}
    from vllm.sampling_params import RepetitionDetectionParams

    return {
        "repetition_detection": RepetitionDetectionParams(
            max_pattern_size=wanted.max_pattern_size,
            min_pattern_size=wanted.min_pattern_size,
            min_count=wanted.min_count,
        )
    }
