"""Lengths by arithmetic on blocks: one table of functions, and the estimate by `bisect`."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

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


@dataclass(frozen=True)
class KVCacheConfig:
    num_blocks: int
    max_model_len: int
    kv_cache_size_tokens: int
    max_concurrency: float


Groups = Sequence[Sequence[LayerSpec]]


def cdiv(a: int, b: int) -> int:
    return (a + b - 1) // b


def format_gib(num_bytes: int) -> str:
    return str(round(num_bytes / (1 << 30), 2))


def page_size_bytes(spec: LayerSpec) -> int:
    if spec.kind == MAMBA:
        real = spec.dtype_bytes * spec.head_size * spec.num_kv_heads
    else:
        v = spec.head_size_v
        per_head = 2 * spec.head_size if v is None else spec.head_size + v
        real = spec.dtype_bytes * per_head * spec.num_kv_heads * spec.block_size
    return real if spec.page_size_padded is None else spec.page_size_padded


def bytes_per_token(specs: Sequence[LayerSpec]) -> int:
    return sum(page_size_bytes(replace(spec, block_size=1)) for spec in specs)


def pool_bytes_per_block(groups: Groups) -> int:
    largest = 0
    for group in groups:
        pages = 0
        for spec in group:
            pages += page_size_bytes(spec)
        largest = max(largest, pages)
    return largest


# Tokens that are remembered besides those in flight, and blocks on top.
REMEMBERED = {WINDOW: (-1, 1), CHUNK: (0, 0)}
STATES = {"none": 1, "align": 2}


def blocks_per_request(groups: Groups, max_model_len: int, max_in_flight_tokens: int) -> int:
    total = 0
    for first, *_ in groups:
        if first.kind == MAMBA and first.mamba_cache_mode in STATES:
            total += STATES[first.mamba_cache_mode]
            continue
        tokens, more = max_model_len, 0
        if first.kind in REMEMBERED:
            besides, more = REMEMBERED[first.kind]
            tokens = min(tokens, first.size + besides + max_in_flight_tokens)
        total += cdiv(tokens, first.block_size) + more
    return total


def estimate_max_model_len(
    groups: Groups, available_bytes: int, max_model_len: int, max_in_flight_tokens: int
) -> int:
    whole = available_bytes // pool_bytes_per_block(groups)
    return bisect_right(
        range(1, max_model_len + 1),
        whole,
        key=lambda length: blocks_per_request(groups, length, max_in_flight_tokens),
    )


def get_kv_cache_config(
    groups: Groups,
    available_bytes_per_worker: Sequence[int],
    max_model_len: int,
    max_in_flight_tokens: int,
    num_gpu_blocks_override: int | None = None,
    auto_fit: bool = False,
) -> KVCacheConfig:
    block = pool_bytes_per_block(groups)
    workers = list(available_bytes_per_worker)
    if num_gpu_blocks_override is not None:
        workers = [block * num_gpu_blocks_override]
    poorest = min(workers)
    if auto_fit:
        max_model_len = estimate_max_model_len(
            groups, poorest - block, max_model_len, max_in_flight_tokens
        )
        if not max_model_len:
            raise ValueError("Cannot auto-fit: no length fits")
    request = blocks_per_request(groups, max_model_len, max_in_flight_tokens)
    for memory in workers:
        rest = memory - block
        if rest <= 0:
            raise ValueError("No available memory for the cache blocks: not even the null block")
        if request > rest // block:
            words = [f"{format_gib(request * block)} GiB wanted, {format_gib(rest)} GiB there"]
            length = estimate_max_model_len(groups, rest, max_model_len, max_in_flight_tokens)
            if length:
                words.append(f"the estimated maximum model length is {length}")
            raise ValueError(": ".join(words))
    num_blocks = poorest // block
    concurrency = num_blocks / request
    return KVCacheConfig(num_blocks, max_model_len, int(concurrency * max_model_len), concurrency)


def startup_log_line(config: KVCacheConfig, device: str = "GPU") -> str:
    tokens, length = (f"{n:,}" for n in (config.kv_cache_size_tokens, config.max_model_len))
    concurrency = format(config.max_concurrency, ".2f")
    line = f"{device} KV cache size: {tokens} tokens, Maximum concurrency for {length} tokens"
    return f"{line} per request: {concurrency}x"
