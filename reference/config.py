"""What an engine is told at its start: limits, policy and cache, under vLLM's names."""

from dataclasses import dataclass
from typing import Literal

from reference.kv_cache_interface import (
    ChunkedLocalAttentionSpec,
    FullAttentionSpec,
    KVCacheSpec,
    SlidingWindowSpec,
)
from reference.kv_cache_utils import resolve_block_sizes
from reference.variants import PINNED, Variants

Policy = Literal["fcfs", "priority"]


class ConfigError(ValueError):
    """A configuration that cannot work: the field, what is wrong with it, what is allowed."""

    def __init__(self, field: str, problem: str, allowed: str) -> None:
        super().__init__(f"{field}: {problem}; allowed: {allowed}")
        self.field = field
        self.problem = problem
        self.allowed = allowed


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """The engine's limits. Sizes are in tokens, but for ``num_gpu_blocks`` and ``max_num_seqs``.

    ``num_gpu_blocks`` counts the null block, which is never handed out. ``watermark`` is the
    share of all blocks that an admission must leave free while others run.

    ``async_scheduling`` decides a step while the one before it is still in the model.
    ``num_speculative_tokens`` drafts are made for each decode.

    ``kv_cache_groups`` are the groups of layers of a model whose layers differ; without them all
    layers are one group of full attention with blocks of ``block_size``.
    ``prefix_cache_retention_interval`` is how densely sliding windows stay in the prefix cache:
    at each multiple of so many tokens, nowhere but where a prompt's own reuse needs them (0), or
    wherever a hit could end (None).

    ``enable_kv_cache_events`` has the prefix cache tell what it gains and loses.

    ``variants`` turn on what other releases do.

    Raises:
        ConfigError: two fields contradict each other.

    >>> EngineConfig(max_num_batched_tokens=32).token_budget
    32
    """

    block_size: int = 16
    num_gpu_blocks: int = 64
    max_model_len: int = 512
    max_num_seqs: int = 8
    max_num_batched_tokens: int = 64
    max_num_scheduled_tokens: int | None = None
    long_prefill_token_threshold: int = 0
    enable_chunked_prefill: bool = True
    enable_prefix_caching: bool = True
    policy: Policy = "fcfs"
    scheduler_reserve_full_isl: bool = True
    watermark: float = 0.0
    async_scheduling: bool = False
    num_speculative_tokens: int = 0
    kv_cache_groups: tuple[KVCacheSpec, ...] | None = None
    prefix_cache_retention_interval: int | None = 0
    enable_kv_cache_events: bool = False
    variants: Variants = PINNED

    def __post_init__(self) -> None:
        batched = self.max_num_batched_tokens
        if batched < self.max_num_seqs:
            raise ConfigError(
                "max_num_batched_tokens",
                f"got {batched}",
                f"at least max_num_seqs ({self.max_num_seqs}), a token for each running request",
            )
        if not self.enable_chunked_prefill and batched < self.max_model_len:
            raise ConfigError(
                "max_num_batched_tokens",
                f"got {batched} without chunked prefill",
                f"at least max_model_len ({self.max_model_len}), "
                "because a prompt must fit in one step",
            )
        if self.long_prefill_token_threshold > self.max_model_len:
            raise ConfigError(
                "long_prefill_token_threshold",
                f"got {self.long_prefill_token_threshold}",
                f"at most max_model_len ({self.max_model_len}), or 0 for none",
            )
        if 0 < self.long_prefill_token_threshold <= self.num_speculative_tokens:
            raise ConfigError(
                "long_prefill_token_threshold",
                f"got {self.long_prefill_token_threshold}",
                f"above num_speculative_tokens ({self.num_speculative_tokens}), or 0 for none",
            )
        if not 0.0 <= self.watermark < 1.0:
            raise ConfigError("watermark", f"got {self.watermark}", "a number from 0 to below 1")
        self._check_groups()

    def _check_groups(self) -> None:
        groups = self.kv_cache_groups or ()
        largest, interval = self.scheduler_block_size, self.prefix_cache_retention_interval
        for spec in groups:
            if isinstance(spec, ChunkedLocalAttentionSpec) and spec.block_size != largest:
                raise ConfigError(
                    "kv_cache_groups",
                    f"chunked_local_attention with blocks of {spec.block_size} tokens",
                    f"blocks of {largest} tokens, the least common multiple of all groups'",
                )
        self._check_events(groups)
        if not interval:
            return
        if not any(isinstance(spec, SlidingWindowSpec) for spec in groups):
            raise ConfigError(
                "prefix_cache_retention_interval",
                f"got {interval} without a sliding window",
                "0 or null: it is for kv_cache_groups of kind sliding_window alone",
            )
        if interval % largest:
            raise ConfigError(
                "prefix_cache_retention_interval",
                f"got {interval}",
                f"null, 0, or a multiple of {largest}, where hits can end",
            )

    def _check_events(self, groups: tuple[KVCacheSpec, ...]) -> None:
        finest = self.hash_block_size
        full = [spec.block_size for spec in groups if isinstance(spec, FullAttentionSpec)]
        if self.enable_kv_cache_events and any(size != finest for size in full):
            # vLLM then tells of pieces of blocks besides, by which nothing is found here.
            raise ConfigError(
                "enable_kv_cache_events",
                f"got true with full_attention in blocks of {max(full)} tokens",
                f"full_attention in blocks of {finest} tokens, as many as one hash is for",
            )

    @property
    def scheduler_block_size(self) -> int:
        """Tokens in a block of all groups at once: prefix hits are multiples of it."""
        return self._block_sizes[0]

    @property
    def hash_block_size(self) -> int:
        """Tokens for which there is one block hash."""
        return self._block_sizes[1]

    @property
    def _block_sizes(self) -> tuple[int, int]:
        if self.kv_cache_groups is None:
            return self.block_size, self.block_size
        return resolve_block_sizes([spec.block_size for spec in self.kv_cache_groups])

    @property
    def max_in_flight_tokens(self) -> int:
        """Tokens that may be scheduled while their model has not come back."""
        return self.max_concurrent_batches * self.max_num_batched_tokens

    @property
    def max_concurrent_batches(self) -> int:
        """Steps that may be in the model, or on the way there, at once."""
        return 2 if self.async_scheduling else 1

    @property
    def token_budget(self) -> int:
        """Tokens that one step may schedule."""
        if self.max_num_scheduled_tokens is not None:
            return self.max_num_scheduled_tokens
        return self.max_num_batched_tokens


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The tape's vocabulary. Tokens are whole numbers from 0 to ``vocab_size - 1``."""

    vocab_size: int = 1000
    eos_token_id: int | None = None
