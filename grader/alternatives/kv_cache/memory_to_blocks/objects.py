"""Layers and the model are objects: a layer knows its page and its blocks, the model the rest."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

FULL = "full_attention"
WINDOW = "sliding_window"
CHUNK = "chunked_local_attention"
MAMBA = "mamba"


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

    @property
    def bytes_per_token(self) -> int:
        values = self.head_size if self.head_size_v is None else self.head_size_v
        return self.num_kv_heads * (self.head_size + values) * self.dtype_bytes

    @property
    def page(self) -> int:
        if self.page_size_padded is not None:
            return self.page_size_padded
        if self.kind == MAMBA:
            return math.prod((self.num_kv_heads, self.head_size, self.dtype_bytes))
        return self.block_size * self.bytes_per_token

    def blocks(self, length: int, in_flight: int) -> int:
        match self.kind, self.mamba_cache_mode:
            case "mamba", "none":
                return 1
            case "mamba", "align":
                return 2
            case "sliding_window", _:
                held = self.size - 1 + in_flight
                return 1 + cdiv(held if held < length else length, self.block_size)
            case "chunked_local_attention", _:
                held = self.size + in_flight
                return cdiv(held if held < length else length, self.block_size)
        return cdiv(length, self.block_size)


@dataclass
class KVCacheConfig:
    num_blocks: int
    max_model_len: int
    kv_cache_size_tokens: int
    max_concurrency: float


Groups = Sequence[Sequence[LayerSpec]]


class Model:
    def __init__(self, groups: Groups, in_flight: int = 0) -> None:
        self.firsts = [group[0] for group in groups]
        self.block = sorted(sum(layer.page for layer in group) for group in groups)[-1]
        self.in_flight = in_flight

    def blocks(self, length: int) -> int:
        return sum(layer.blocks(length, self.in_flight) for layer in self.firsts)

    def fits(self, length: int, memory: int) -> bool:
        return self.blocks(length) * self.block <= memory

    def longest(self, memory: int, limit: int) -> int:
        """Grow the length by ever smaller powers of two while it fits."""
        length = 0
        step = 1 << limit.bit_length()
        while step:
            if length + step <= limit and self.fits(length + step, memory):
                length += step
            step >>= 1
        return length

    def check(self, memory: int, length: int) -> None:
        if memory <= 0:
            raise ValueError("No available memory for the cache blocks.")
        if not self.fits(length, memory):
            best = self.longest(memory, length)
            hint = f" (the estimated maximum model length is {best})" * (best > 0)
            needed = format_gib(self.blocks(length) * self.block)
            raise ValueError(f"{needed} GiB needed, {format_gib(memory)} GiB available{hint}")


def cdiv(a: int, b: int) -> int:
    return math.ceil(a / b) if a < 2**50 else -(-a // b)


def format_gib(num_bytes: int) -> str:
    return f"{round(num_bytes / 2**30, 2)}"


def page_size_bytes(spec: LayerSpec) -> int:
    return spec.page


def bytes_per_token(specs: Sequence[LayerSpec]) -> int:
    return sum(spec.bytes_per_token for spec in specs)


def pool_bytes_per_block(groups: Groups) -> int:
    return Model(groups).block


def blocks_per_request(groups: Groups, max_model_len: int, max_in_flight_tokens: int) -> int:
    return Model(groups, max_in_flight_tokens).blocks(max_model_len)


def estimate_max_model_len(
    groups: Groups, available_bytes: int, max_model_len: int, max_in_flight_tokens: int
) -> int:
    return Model(groups, max_in_flight_tokens).longest(available_bytes, max_model_len)


def get_kv_cache_config(
    groups: Groups,
    available_bytes_per_worker: Sequence[int],
    max_model_len: int,
    max_in_flight_tokens: int,
    num_gpu_blocks_override: int | None = None,
    auto_fit: bool = False,
) -> KVCacheConfig:
    model = Model(groups, max_in_flight_tokens)
    if num_gpu_blocks_override is None:
        memories = [memory - model.block for memory in available_bytes_per_worker]
        num_blocks = min(available_bytes_per_worker) // model.block
    else:
        memories = [(num_gpu_blocks_override - 1) * model.block]
        num_blocks = num_gpu_blocks_override
    if auto_fit:
        for memory in memories:
            max_model_len = model.longest(memory, max_model_len)
        if max_model_len < 1:
            raise ValueError("Cannot auto-fit max_model_len.")
    for memory in memories:
        model.check(memory, max_model_len)
    max_concurrency = num_blocks / model.blocks(max_model_len)
    return KVCacheConfig(
        max_concurrency=max_concurrency,
        kv_cache_size_tokens=math.floor(max_concurrency * max_model_len),
        max_model_len=max_model_len,
        num_blocks=num_blocks,
    )


def startup_log_line(config: KVCacheConfig, device: str = "GPU") -> str:
    tokens = format(config.kv_cache_size_tokens, ",d")
    length = format(config.max_model_len, ",d")
    return " ".join(
        [
            f"{device} KV cache size: {tokens} tokens, Maximum concurrency for {length} tokens",
            f"per request: {config.max_concurrency:.2f}x",
        ]
    )
