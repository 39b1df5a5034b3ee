"""vLLM's own sizing of the KV cache behind the lesson's interface.

Groups come in as they are: vLLM is given their layers, makes groups of them itself, and they have
to be the same.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from vllm.config import VllmConfig
from vllm.utils import math_utils, mem_utils
from vllm.v1.core import kv_cache_utils
from vllm.v1.core.single_type_kv_cache_manager import register_all_kvcache_specs
from vllm.v1.kv_cache_interface import (
    ChunkedLocalAttentionSpec,
    FullAttentionSpec,
    KVCacheGroupSpec,
    KVCacheSpec,
    MambaSpec,
    SlidingWindowSpec,
)

import grader

sys.path.append(str(Path(__file__).parents[3]))
grader.__path__.append(str(Path(__file__).parents[2]))
kit = import_module("grader.adapters.kit")

PRELOAD = ("vllm.v1.core.kv_cache_utils", "vllm.v1.core.sched.scheduler")

FULL = "full_attention"
WINDOW = "sliding_window"
CHUNK = "chunked_local_attention"
MAMBA = "mamba"

cdiv = math_utils.cdiv
format_gib = mem_utils.format_gib

DTYPES = {1: torch.uint8, 2: torch.bfloat16, 4: torch.float32}
DEVICE_TYPES = {"GPU": "cuda", "CPU": "cpu"}


@dataclass(frozen=True)
class LayerSpec:
    kind: str
    block_size: int
    num_kv_heads: int
    head_size: int
    dtype_bytes: int
    size: int = 0
    head_size_v: int | None = None
    page_size_padded: int | None = None
    mamba_cache_mode: str = "none"


@dataclass(frozen=True)
class KVCacheConfig:
    num_blocks: int
    max_model_len: int
    kv_cache_size_tokens: int
    max_concurrency: float


Groups = Sequence[Sequence[LayerSpec]]


def page_size_bytes(spec: LayerSpec) -> int:
    return int(_real_spec(spec).page_size_bytes)


def bytes_per_token(specs: Sequence[LayerSpec]) -> int:
    return sum(page_size_bytes(spec) // spec.block_size for spec in specs)


def pool_bytes_per_block(groups: Groups) -> int:
    _, real_groups = _grouped(_vllm_config(groups), groups)
    return int(kv_cache_utils._pool_bytes_per_block(real_groups))


def blocks_per_request(groups: Groups, max_model_len: int, max_in_flight_tokens: int) -> int:
    vllm_config = _vllm_config(groups, max_model_len, max_in_flight_tokens)
    _, real_groups = _grouped(vllm_config, groups)
    needed = kv_cache_utils._max_memory_usage_bytes_from_groups(vllm_config, real_groups)
    return int(needed // kv_cache_utils._pool_bytes_per_block(real_groups))


def estimate_max_model_len(
    groups: Groups, available_bytes: int, max_model_len: int, max_in_flight_tokens: int
) -> int:
    vllm_config = _vllm_config(groups, max_model_len, max_in_flight_tokens)
    _, real_groups = _grouped(vllm_config, groups)
    estimate = kv_cache_utils._estimate_max_model_len_from_groups
    return int(estimate(vllm_config, real_groups, available_bytes))


def get_kv_cache_config(
    groups: Groups,
    available_bytes_per_worker: Sequence[int],
    max_model_len: int,
    max_in_flight_tokens: int,
    num_gpu_blocks_override: int | None = None,
    auto_fit: bool = False,
) -> KVCacheConfig:
    vllm_config = _vllm_config(groups, max_model_len, max_in_flight_tokens)
    vllm_config.cache_config.num_gpu_blocks_override = num_gpu_blocks_override
    vllm_config.model_config.original_max_model_len = -1 if auto_fit else max_model_len
    layers, _ = _grouped(vllm_config, groups)
    configs = kv_cache_utils.get_kv_cache_configs(
        vllm_config,
        [dict(layers) for _ in available_bytes_per_worker],
        list(available_bytes_per_worker),
    )
    config = kv_cache_utils.generate_scheduler_kv_cache_config(configs)
    num_tokens, max_concurrency = kv_cache_utils.get_kv_cache_capacity(vllm_config, config)
    return KVCacheConfig(
        config.num_blocks, vllm_config.model_config.max_model_len, num_tokens, max_concurrency
    )


def startup_log_line(config: KVCacheConfig, device: str = "GPU") -> str:
    vllm_config = _shared_config()
    vllm_config.model_config.max_model_len = config.max_model_len
    vllm_config.device_config.device_type = DEVICE_TYPES[device]
    capacity = (config.kv_cache_size_tokens, config.max_concurrency)
    said: list[str] = []
    kept = kv_cache_utils.get_kv_cache_capacity, kv_cache_utils.logger
    try:
        kv_cache_utils.get_kv_cache_capacity = lambda *_: capacity
        kv_cache_utils.logger = _Listener(said)
        kv_cache_utils.update_kv_cache_capacity(vllm_config, None)
    finally:
        kv_cache_utils.get_kv_cache_capacity, kv_cache_utils.logger = kept
        vllm_config.device_config.device_type = "cpu"
    return said[0]


class _Listener:
    """Stands in for vLLM's logger and keeps what it is told."""

    def __init__(self, said: list[str]) -> None:
        self._said = said

    def info_once(self, message: str, *args: Any) -> None:
        self._said.append(message % args)


def _real_spec(spec: LayerSpec) -> KVCacheSpec:
    dtype = DTYPES[spec.dtype_bytes]
    if spec.kind == MAMBA:
        return MambaSpec(
            block_size=spec.block_size,
            shapes=((spec.num_kv_heads, spec.head_size),),
            dtypes=(dtype,),
            page_size_padded=spec.page_size_padded,
            mamba_cache_mode=spec.mamba_cache_mode,
        )
    classes = {
        FULL: (FullAttentionSpec, {}),
        WINDOW: (SlidingWindowSpec, {"sliding_window": spec.size}),
        CHUNK: (ChunkedLocalAttentionSpec, {"attention_chunk_size": spec.size}),
    }
    spec_class, size = classes[spec.kind]
    return spec_class(
        block_size=spec.block_size,
        num_kv_heads=spec.num_kv_heads,
        head_size=spec.head_size,
        head_size_v=spec.head_size_v,
        dtype=dtype,
        page_size_padded=spec.page_size_padded,
        **size,
    )


def _grouped(
    vllm_config: VllmConfig, groups: Groups
) -> tuple[dict[str, KVCacheSpec], list[KVCacheGroupSpec]]:
    """The layers by name, and the groups that vLLM makes of them: those that came in."""
    layers = {
        f"layers.{number}.{index}": _real_spec(spec)
        for number, group in enumerate(groups)
        for index, spec in enumerate(group)
    }
    real_groups = kv_cache_utils.get_kv_cache_groups(vllm_config, dict(layers))
    theirs = [[layers[name] for name in group.layer_names] for group in real_groups]
    if theirs != [[_real_spec(spec) for spec in group] for group in groups]:
        raise RuntimeError(f"vLLM groups these layers otherwise: {theirs}")
    return layers, real_groups


@cache
def _shared_config() -> VllmConfig:
    vllm_config = kit.scheduler_of().vllm_config
    register_all_kvcache_specs(vllm_config)
    vllm_config.cache_config.kv_cache_layout = "LBNHC"
    vllm_config.scheduler_config.disable_hybrid_kv_cache_manager = False
    return vllm_config


def _vllm_config(
    groups: Groups, max_model_len: int = 1, max_in_flight_tokens: int = 1
) -> VllmConfig:
    """The configuration of an engine that has one batch in flight at a time."""
    vllm_config = _shared_config()
    modes = {spec.mamba_cache_mode for group in groups for spec in group if spec.kind == MAMBA}
    vllm_config.cache_config.mamba_cache_mode = modes.pop() if modes else "none"
    vllm_config.cache_config.num_gpu_blocks_override = None
    vllm_config.model_config.max_model_len = max_model_len
    vllm_config.scheduler_config.max_num_batched_tokens = max_in_flight_tokens
    return vllm_config
