"""Settings."""

from dataclasses import dataclass, field
from typing import ClassVar

from vllm.constants import CHUNK


@dataclass
class CacheConfig:
    """How keys and values are kept."""

    DEFAULT_BLOCK_SIZE: ClassVar[int] = 16

    block_size: int = DEFAULT_BLOCK_SIZE
    chunk_bytes: int = CHUNK
    watermark: float = 0.0
    policy: str = "fcfs"
    skipped: list[str] = field(default_factory=list)
    enabled: bool = True


def defaults(memory: int, name: str, world_size: int) -> dict[str, int]:
    """Budgets by usage."""
    if memory >= 160 * CHUNK:
        budgets = {"offline": 16384, "server": 16384}
    elif memory >= 70 * CHUNK and "a100" not in name:
        budgets = {"offline": 16384, "server": 8192}
    else:
        budgets = {"offline": 8192, "server": 2048}
    if name == "cpu":
        budgets = {"offline": 4096 * world_size, "server": 2048 * world_size}
    return budgets
