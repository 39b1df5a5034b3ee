"""From memory to blocks: what vLLM works out once, before it takes its first request.

A *group* is a list of layers that share block tables, a model a list of groups. All workers hold
the same layers (tensor parallelism), so a group is described once, as it is on one worker. Memory
is in bytes, lengths are in tokens; both are whole numbers.

Read in vLLM 0.30.0: ``get_kv_cache_configs`` and ``get_kv_cache_capacity`` in
``vllm/v1/core/kv_cache_utils.py``, the specs in ``vllm/v1/kv_cache_interface.py``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

FULL = "full_attention"
WINDOW = "sliding_window"
CHUNK = "chunked_local_attention"
MAMBA = "mamba"


@dataclass(frozen=True)
class LayerSpec:
    """What one layer keeps of a request, on one worker.

    Attributes:
        kind: ``FULL``, ``WINDOW``, ``CHUNK`` or ``MAMBA``.
        block_size: tokens in a block.
        num_kv_heads: heads of keys and values; of the state, for ``MAMBA``.
        head_size: values in one head's key of one token; in one head of the state, for ``MAMBA``.
        dtype_bytes: bytes of one value: 2 for bf16, 1 for fp8.
        size: the window or chunk in tokens; 0 for the other kinds.
        head_size_v: values in one head's value of one token; None: as many as in its key.
        page_size_padded: bytes that a page is made up to; None: it is not padded.
        mamba_cache_mode: ``"none"``, ``"align"`` or ``"all"``; for ``MAMBA`` only.
    """

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
    """What the start comes to.

    Attributes:
        num_blocks: blocks on each worker, the null block included.
        max_model_len: the longest request that is let in, in tokens.
        kv_cache_size_tokens: how many tokens the cache is said to hold.
        max_concurrency: how many requests of that length are said to fit at once.
    """

    num_blocks: int
    max_model_len: int
    kv_cache_size_tokens: int
    max_concurrency: float


Groups = Sequence[Sequence[LayerSpec]]


def cdiv(a: int, b: int) -> int:
    """a / b, rounded up.

    >>> cdiv(8, 4), cdiv(9, 4)
    (2, 3)
    """
    return -(-a // b)


def format_gib(num_bytes: int) -> str:
    """Bytes in GiB, rounded to two digits.

    >>> format_gib(2**30), format_gib(2**30 - 2**21)
    ('1.0', '1.0')
    """
    return f"{round(num_bytes / 2**30, 2)}"


def page_size_bytes(spec: LayerSpec) -> int:
    """The bytes that one block takes in one layer.

    >>> page_size_bytes(LayerSpec(FULL, 16, 8, 128, 2))
    65536
    >>> page_size_bytes(LayerSpec(FULL, 16, 1, 576, 2, head_size_v=0))
    18432
    >>> page_size_bytes(LayerSpec(MAMBA, 16, 8, 128, 4))
    4096
    """
    ### BEGIN SOLUTION keys and values of a block's tokens, or one state; unless it is padded
    if spec.page_size_padded is not None:
        return spec.page_size_padded
    if spec.kind == MAMBA:
        return spec.num_kv_heads * spec.head_size * spec.dtype_bytes
    head_size_v = spec.head_size if spec.head_size_v is None else spec.head_size_v
    return spec.block_size * spec.num_kv_heads * (spec.head_size + head_size_v) * spec.dtype_bytes
    ### END SOLUTION


def bytes_per_token(specs: Sequence[LayerSpec]) -> int:
    """The bytes that one token takes in these layers together.

    Args:
        specs: layers of attention, none of them padded.

    >>> bytes_per_token([LayerSpec(FULL, 16, 8, 128, 2)] * 32)
    131072
    """
    ### BEGIN SOLUTION each layer's page, shared among the tokens of a block
    return sum(page_size_bytes(spec) // spec.block_size for spec in specs)
    ### END SOLUTION


def pool_bytes_per_block(groups: Groups) -> int:
    """The bytes that one block of the pool takes on a worker.

    >>> full, window = LayerSpec(FULL, 16, 8, 128, 2), LayerSpec(WINDOW, 16, 8, 128, 2, 1024)
    >>> pool_bytes_per_block([[full] * 3])
    196608
    >>> pool_bytes_per_block([[full] * 3, [window] * 4])
    262144
    """
    ### BEGIN SOLUTION the pages of the group that takes most
    return max(sum(page_size_bytes(spec) for spec in group) for group in groups)
    ### END SOLUTION


def blocks_per_request(groups: Groups, max_model_len: int, max_in_flight_tokens: int) -> int:
    """The blocks that one request of ``max_model_len`` tokens may hold at once, in all groups.

    Args:
        groups: the model; the layers of one group need equally many blocks.
        max_model_len: tokens of the request, at least 1.
        max_in_flight_tokens: tokens that may be scheduled and not yet back from the model.

    >>> full, window = LayerSpec(FULL, 16, 8, 128, 2), LayerSpec(WINDOW, 16, 8, 128, 2, 1024)
    >>> blocks_per_request([[full]], 8192, 2048)
    512
    >>> blocks_per_request([[full], [window]], 8192, 2048)
    705
    """

    ### BEGIN SOLUTION one expression for each kind, summed over the groups
    def blocks_in(spec: LayerSpec) -> int:
        num_tokens = max_model_len
        if spec.kind == WINDOW:
            num_tokens = min(spec.size - 1 + max_in_flight_tokens, max_model_len)
            # A window need not begin where a block does.
            return cdiv(num_tokens, spec.block_size) + 1
        if spec.kind == CHUNK:
            num_tokens = min(spec.size + max_in_flight_tokens, max_model_len)
        if spec.kind == MAMBA and spec.mamba_cache_mode != "all":
            return 2 if spec.mamba_cache_mode == "align" else 1
        return cdiv(num_tokens, spec.block_size)

    return sum(blocks_in(group[0]) for group in groups)
    ### END SOLUTION


def estimate_max_model_len(
    groups: Groups, available_bytes: int, max_model_len: int, max_in_flight_tokens: int
) -> int:
    """The longest request whose blocks fit into so many bytes.

    Args:
        groups: the model.
        available_bytes: what its blocks may take; the null block is off already. May be negative.
        max_model_len: the request is not longer; up to 10**9.
        max_in_flight_tokens: as in ``blocks_per_request``.

    Returns:
        Its length in tokens; 0 when not even one token fits.

    >>> groups = [[LayerSpec(FULL, 16, 8, 128, 2)] * 32]
    >>> estimate_max_model_len(groups, 2**30 - 2**21, 8192, 2048)
    8176
    >>> estimate_max_model_len(groups, 2**30, 1000, 2048)
    1000
    >>> estimate_max_model_len(groups, 2**20, 8192, 2048)
    0
    """
    ### BEGIN SOLUTION halve the range of lengths until one is left
    bytes_per_block = pool_bytes_per_block(groups)
    fits, too_long = 0, max_model_len + 1
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        num_blocks = blocks_per_request(groups, middle, max_in_flight_tokens)
        if num_blocks * bytes_per_block <= available_bytes:
            fits = middle
        else:
            too_long = middle
    return fits
    ### END SOLUTION


def get_kv_cache_config(
    groups: Groups,
    available_bytes_per_worker: Sequence[int],
    max_model_len: int,
    max_in_flight_tokens: int,
    num_gpu_blocks_override: int | None = None,
    auto_fit: bool = False,
) -> KVCacheConfig:
    """Size the cache, or refuse to start.

    Args:
        groups: the model.
        available_bytes_per_worker: what each worker has left for the cache.
        max_model_len: the longest request that is to be let in; with ``auto_fit`` the model's own
            limit.
        max_in_flight_tokens: as in ``blocks_per_request``.
        num_gpu_blocks_override: so many blocks, whatever memory there is.
        auto_fit: choose the longest ``max_model_len`` that fits (``--max-model-len auto``).

    Raises:
        ValueError: nothing fits, or not one request of ``max_model_len`` tokens does. The message
            says which; the text gives the words.

    >>> groups = [[LayerSpec(FULL, 16, 8, 128, 2)] * 32]
    >>> config = get_kv_cache_config(groups, [10 * 2**30], 8192, 2048)
    >>> config.num_blocks, config.kv_cache_size_tokens, config.max_concurrency
    (5120, 81920, 10.0)
    >>> get_kv_cache_config(groups, [2**30, 2**31], 8192, 2048, auto_fit=True).max_model_len
    8176
    """
    ### BEGIN SOLUTION override, null block, auto-fit, check each worker; then the config
    bytes_per_block = pool_bytes_per_block(groups)
    available = list(available_bytes_per_worker)
    if num_gpu_blocks_override is not None:
        available = [num_gpu_blocks_override * bytes_per_block for _ in available]
    usable = [memory - bytes_per_block for memory in available]
    if auto_fit:
        max_model_len = min(
            estimate_max_model_len(groups, memory, max_model_len, max_in_flight_tokens)
            for memory in usable
        )
        if max_model_len == 0:
            raise ValueError("Cannot auto-fit max_model_len: there is no room for a single token")
    num_blocks_per_request = blocks_per_request(groups, max_model_len, max_in_flight_tokens)
    needed = num_blocks_per_request * bytes_per_block
    for memory in usable:
        if memory <= 0:
            raise ValueError("No available memory for the cache blocks")
        if needed > memory:
            longest = estimate_max_model_len(groups, memory, max_model_len, max_in_flight_tokens)
            advice = f"; the estimated maximum model length is {longest}" if longest else ""
            raise ValueError(
                f"one request of {max_model_len} tokens needs {format_gib(needed)} GiB, "
                f"available are {format_gib(memory)} GiB{advice}"
            )
    num_blocks = min(memory // bytes_per_block for memory in available)
    max_concurrency = num_blocks / num_blocks_per_request
    return KVCacheConfig(
        num_blocks=num_blocks,
        max_model_len=max_model_len,
        kv_cache_size_tokens=int(max_concurrency * max_model_len),
        max_concurrency=max_concurrency,
    )
    ### END SOLUTION


def startup_log_line(config: KVCacheConfig, device: str = "GPU") -> str:
    """The line that vLLM logs at the start.

    >>> startup_log_line(KVCacheConfig(5120, 8192, 81920, 10.0))
    'GPU KV cache size: 81,920 tokens, Maximum concurrency for 8,192 tokens per request: 10.00x'
    """
    ### BEGIN SOLUTION tokens and length with commas, concurrency with two decimals
    return (
        f"{device} KV cache size: {config.kv_cache_size_tokens:,} tokens, "
        f"Maximum concurrency for {config.max_model_len:,} tokens per request: "
        f"{config.max_concurrency:.2f}x"
    )
    ### END SOLUTION
