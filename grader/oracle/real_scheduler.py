"""vLLM's own scheduler and requests, built from a workload without a model or a GPU.

Runs in the oracle's environment alone.
"""

import json
import os
import tempfile
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from vllm.config import (
    CacheConfig,
    DeviceConfig,
    KVEventsConfig,
    ModelConfig,
    SchedulerConfig,
    VllmConfig,
)
from vllm.lora.request import LoRARequest
from vllm.multimodal.inputs import MultiModalFeatureSpec, PlaceholderRange
from vllm.sampling_params import RepetitionDetectionParams, SamplingParams
from vllm.utils.hashing import get_hash_fn_by_name
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.kv_cache_interface import (
    ChunkedLocalAttentionSpec,
    FullAttentionSpec,
    KVCacheConfig,
    KVCacheGroupSpec,
    KVCacheSpec,
    SlidingWindowSpec,
)
from vllm.v1.request import Request, RequestStatus

from reference.config import EngineConfig
from reference.workload import Workload, WorkloadRequest

HASH_NAME = "sha256"

#: A Llama so small that its configuration alone matters; no weight of it is ever made.
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


class TextRequest(Request):
    """A request whose images count for block hashes and need no encoder to run.

    The tiny Llama has no vision encoder, so the scheduler would wait for it for ever.
    """

    @property
    def has_encoder_inputs(self) -> bool:
        return False


class AnyTokens:
    """Stands in for the structured output manager: accepts whatever was sampled or drafted."""

    def accept_tokens(self, _request: Request, _token_ids: list[int]) -> bool:
        return True

    def validate_tokens(self, _request: Request, token_ids: list[int]) -> list[int]:
        return token_ids


@cache
def prepare() -> None:
    """What vLLM wants done once in a process before anything is hashed."""
    # The worker's own seed is no wish of anybody's: hashes begin as they do by default.
    os.environ.pop("PYTHONHASHSEED", None)
    init_none_hash(get_hash_fn_by_name(HASH_NAME))


@cache
def _model_config(max_model_len: int) -> ModelConfig:
    return ModelConfig(
        model=_tiny_llama_folder(),
        skip_tokenizer_init=True,
        dtype="float32",
        max_model_len=max_model_len,
    )


@cache
def _tiny_llama_folder() -> str:
    folder = Path(tempfile.gettempdir()) / "vllmlings-tiny-llama"
    folder.mkdir(exist_ok=True)
    config = folder / "config.json"
    text = json.dumps(_TINY_LLAMA)
    if not config.exists() or config.read_text() != text:
        config.write_text(text)
    return str(folder)


def build_scheduler(engine: EngineConfig) -> Scheduler:
    """vLLM's `Scheduler`, or `AsyncScheduler`, under the limits of `engine`."""
    prepare()
    cache_config = CacheConfig(
        block_size=engine.block_size,
        enable_prefix_caching=engine.enable_prefix_caching,
        prefix_caching_hash_algo=HASH_NAME,
    )
    vllm_config = VllmConfig(
        model_config=_model_config(engine.max_model_len),
        cache_config=cache_config,
        scheduler_config=_scheduler_config(engine),
        device_config=DeviceConfig("cpu"),
        # Batches are taken out at the publisher, so nothing is to be sent.
        kv_events_config=KVEventsConfig(
            enable_kv_cache_events=engine.enable_kv_cache_events, publisher="null"
        ),
    )
    cache_config.num_gpu_blocks = engine.num_gpu_blocks
    # On a CPU vLLM turns it off, whatever it is told.
    vllm_config.scheduler_config.async_scheduling = engine.async_scheduling
    scheduler_class = AsyncScheduler if engine.async_scheduling else Scheduler
    scheduler = scheduler_class(
        vllm_config=vllm_config,
        kv_cache_config=build_kv_cache_config(engine),
        structured_output_manager=AnyTokens(),
        block_size=engine.scheduler_block_size,
        hash_block_size=engine.hash_block_size,
        log_stats=True,
    )
    # A speculative configuration would ask for a drafter that fits; the number is all there is
    # to decide about.
    scheduler.num_spec_tokens = engine.num_speculative_tokens
    return scheduler


def build_kv_cache_config(engine: EngineConfig) -> KVCacheConfig:
    """vLLM's description of the pool and of the groups of layers that share it."""
    groups = engine.kv_cache_groups
    plain = [{"kind": "full_attention", "block_size": engine.block_size}]
    specs = plain if groups is None else [spec.to_dict() for spec in groups]
    return KVCacheConfig(
        num_blocks=engine.num_gpu_blocks,
        kv_cache_tensors=[],
        kv_cache_groups=[
            KVCacheGroupSpec([f"layer.{number}"], build_kv_cache_spec(**spec))
            for number, spec in enumerate(specs)
        ],
        prefix_cache_retention_interval=engine.prefix_cache_retention_interval,
    )


def build_kv_cache_spec(kind: str, block_size: int, **size: int) -> KVCacheSpec:
    """vLLM's spec of layers of one kind; `size` is the window's or the chunk's, by its name."""
    classes = {
        "full_attention": FullAttentionSpec,
        "sliding_window": SlidingWindowSpec,
        "chunked_local_attention": ChunkedLocalAttentionSpec,
    }
    return classes[kind](
        block_size=block_size, num_kv_heads=1, head_size=1, dtype=torch.float32, **size
    )


def _scheduler_config(engine: EngineConfig) -> SchedulerConfig:
    config = SchedulerConfig(
        max_model_len=engine.max_model_len,
        is_encoder_decoder=False,
        max_num_seqs=engine.max_num_seqs,
        max_num_batched_tokens=engine.max_num_batched_tokens,
        max_num_scheduled_tokens=engine.max_num_scheduled_tokens,
        long_prefill_token_threshold=engine.long_prefill_token_threshold,
        enable_chunked_prefill=engine.enable_chunked_prefill,
        policy=engine.policy,
        scheduler_reserve_full_isl=engine.scheduler_reserve_full_isl,
        watermark=engine.watermark,
        async_scheduling=engine.async_scheduling,
    )
    for name in ("max_num_batched_tokens", "max_num_seqs", "enable_chunked_prefill", "policy"):
        if getattr(config, name) != getattr(engine, name):
            raise ValueError(f"vLLM does not take {name}={getattr(engine, name)!r} as it is")
    return config


def build_request(request: WorkloadRequest, workload: Workload) -> Request:
    """vLLM's `Request` for one request of the workload, ready for `Scheduler.add_request`."""
    real = TextRequest(
        request_id=request.id,
        prompt_token_ids=list(request.prompt_token_ids),
        sampling_params=_sampling_params(request, workload),
        pooling_params=None,
        arrival_time=request.arrival_time,
        mm_features=[
            MultiModalFeatureSpec(
                data=None,
                modality="image",
                identifier=feature.identifier,
                mm_position=PlaceholderRange(offset=feature.offset, length=feature.length),
            )
            for feature in request.mm_features
        ],
        lora_request=_lora_request(request, workload),
        cache_salt=request.cache_salt,
        priority=request.priority,
        # vLLM's engine core hashes nothing either when prefix caching is off.
        block_hasher=_block_hasher(workload.engine),
    )
    if request.grammar is not None:
        real.status = RequestStatus.WAITING_FOR_STRUCTURED_OUTPUT_GRAMMAR
        real.structured_output_request = SimpleNamespace(grammar=None)
    return real


def _block_hasher(engine: EngineConfig) -> Any:
    if not engine.enable_prefix_caching:
        return None
    return get_request_block_hasher(engine.hash_block_size, get_hash_fn_by_name(HASH_NAME))


def _sampling_params(request: WorkloadRequest, workload: Workload) -> SamplingParams:
    wanted = request.sampling_params
    eos_token_id = workload.model.eos_token_id
    repetition = wanted.repetition_detection
    params = SamplingParams(
        max_tokens=wanted.max_tokens,
        min_tokens=wanted.min_tokens,
        stop_token_ids=list(wanted.stop_token_ids),
        ignore_eos=wanted.eos_token_id is None,
        prompt_logprobs=0 if wanted.prompt_logprobs else None,
        repetition_detection=repetition
        and RepetitionDetectionParams(
            max_pattern_size=repetition.max_pattern_size,
            min_pattern_size=repetition.min_pattern_size,
            min_count=repetition.min_count,
        ),
        detokenize=False,
    )
    params.update_from_generation_config({}, eos_token_id)
    return params


def _lora_request(request: WorkloadRequest, workload: Workload) -> LoRARequest | None:
    if request.lora_name is None:
        return None
    names = sorted({other.lora_name for other in workload.requests if other.lora_name})
    return LoRARequest(request.lora_name, names.index(request.lora_name) + 1, "/nowhere")
