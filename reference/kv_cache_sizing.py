"""How many blocks the memory holds, and how long a request may become.

What vLLM works out once, when it starts, from the bytes that are left for the KV cache. The
engine itself needs only the outcome, ``num_gpu_blocks``.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from reference.kv_cache_interface import KVCacheSpec


@dataclass(frozen=True, slots=True)
class MambaSpec(KVCacheSpec):
    """Layers that keep one state a request, however many tokens it has read.

    ``mamba_cache_mode`` says what prefix caching keeps: ``none``, ``align`` or ``all``.
    """

    mamba_cache_mode: str = "none"
    kind: ClassVar[str] = "mamba"

    def max_admission_blocks_per_request(
        self, _max_in_flight_tokens: int, _max_model_len: int
    ) -> int | None:
        return {"none": 1, "align": 2}.get(self.mamba_cache_mode)


@dataclass(frozen=True, slots=True)
class KVCacheGroup:
    """Layers that share block tables; ``page_size_bytes`` is what a block takes in each of them."""

    spec: KVCacheSpec
    page_size_bytes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class KVCacheConfig:
    """What start-up comes to; ``num_blocks`` counts the null block."""

    num_blocks: int
    max_model_len: int
    kv_cache_size_tokens: int
    max_concurrency: float


class CannotAutoFit(ValueError):
    """Not even a request of one token has room."""

    def __init__(self) -> None:
        super().__init__("Cannot auto-fit max_model_len: there is no room for a single token")


class NoAvailableMemory(ValueError):
    """Nothing is left for blocks once the null block has its bytes."""

    def __init__(self) -> None:
        super().__init__("No available memory for the cache blocks")


class RequestTooLong(ValueError):
    """A request of ``max_model_len`` tokens has no room; one of ``estimated`` would (0: none)."""

    def __init__(self, max_model_len: int, needed: int, available: int, estimated: int) -> None:
        advice = f"; the estimated maximum model length is {estimated}" if estimated else ""
        super().__init__(
            f"a request of {max_model_len} tokens needs {needed} bytes of {available}{advice}"
        )
        self.max_model_len, self.estimated = max_model_len, estimated
        self.needed, self.available = needed, available


@dataclass(frozen=True, slots=True)
class KVCacheSizing:
    """The sums for one model: its groups of layers, the same on every worker.

    ``max_in_flight_tokens`` are the tokens that may be scheduled and not yet back.

    >>> from reference.kv_cache_interface import FullAttentionSpec
    >>> group = KVCacheGroup(FullAttentionSpec(block_size=16), (65_536,) * 32)
    >>> KVCacheSizing((group,), 2048).get_kv_cache_config([10 * 2**30], 8192)
    KVCacheConfig(num_blocks=5120, max_model_len=8192, kv_cache_size_tokens=81920, \
max_concurrency=10.0)
    """

    groups: tuple[KVCacheGroup, ...]
    max_in_flight_tokens: int

    @property
    def bytes_per_block(self) -> int:
        """What one block takes on a worker; the groups lie over one another in it."""
        return max(sum(group.page_size_bytes) for group in self.groups)

    def blocks_per_request(self, max_model_len: int) -> int:
        """Blocks that one request of this length may hold at once, in all groups together."""
        return sum(self._blocks_in(group.spec, max_model_len) for group in self.groups)

    def _blocks_in(self, spec: KVCacheSpec, max_model_len: int) -> int:
        bound = spec.max_admission_blocks_per_request(self.max_in_flight_tokens, max_model_len)
        return -(-max_model_len // spec.block_size) if bound is None else bound

    def estimate_max_model_len(self, available: int, max_model_len: int) -> int:
        """The longest request that fits into so many bytes, at most ``max_model_len``; 0: none."""
        lengths = range(1, max_model_len + 1)
        num_blocks = available // self.bytes_per_block
        return bisect_right(lengths, num_blocks, key=self.blocks_per_request)

    def get_kv_cache_config(
        self,
        available: Sequence[int],
        max_model_len: int,
        num_gpu_blocks_override: int | None = None,
        auto_fit: bool = False,
    ) -> KVCacheConfig:
        """Size the cache from the bytes that each worker has.

        Raises ``CannotAutoFit``, ``NoAvailableMemory`` or ``RequestTooLong``.
        """
        if num_gpu_blocks_override is not None:
            available = [num_gpu_blocks_override * self.bytes_per_block] * len(available)
        usable = [memory - self.bytes_per_block for memory in available]
        if auto_fit:
            max_model_len = self.estimate_max_model_len(min(usable), max_model_len)
            if not max_model_len:
                raise CannotAutoFit
        for memory in usable:
            self._check_enough(memory, max_model_len)
        num_blocks = min(available) // self.bytes_per_block
        max_concurrency = num_blocks / self.blocks_per_request(max_model_len)
        num_tokens = int(max_concurrency * max_model_len)
        return KVCacheConfig(num_blocks, max_model_len, num_tokens, max_concurrency)

    def _check_enough(self, memory: int, max_model_len: int) -> None:
        if memory <= 0:
            raise NoAvailableMemory
        needed = self.blocks_per_request(max_model_len) * self.bytes_per_block
        if needed > memory:
            estimated = self.estimate_max_model_len(memory, max_model_len)
            raise RequestTooLong(max_model_len, needed, memory, estimated)
