"""What an engine is told at its start: limits, policy and cache, under vLLM's names."""

from dataclasses import dataclass
from typing import Literal

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
        if not 0.0 <= self.watermark < 1.0:
            raise ConfigError("watermark", f"got {self.watermark}", "a number from 0 to below 1")

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
