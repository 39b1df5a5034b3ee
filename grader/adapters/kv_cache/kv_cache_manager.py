"""vLLM's own KV cache manager behind the lesson's interface, one full-attention group.

It has a block pool of its own; that which is handed in only says how many blocks there are.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from vllm.v1.core import kv_cache_manager
from vllm.v1.core.kv_cache_manager import KVCacheBlocks
from vllm.v1.request import RequestStatus

import grader

sys.path.append(str(Path(__file__).parents[3]))
grader.__path__.append(str(Path(__file__).parents[2]))
kit = import_module("grader.adapters.kit")

PRELOAD = ("vllm.config", "vllm.v1.core.sched.scheduler", "vllm.v1.request")


@dataclass
class Request:
    request_id: str
    num_tokens: int
    num_computed_tokens: int = 0
    block_hashes: list[bytes] = field(default_factory=list)
    num_preemptions: int = 0
    skip_reading_prefix_cache: bool = False
    is_waiting: bool = False

    def real(self) -> SimpleNamespace:
        """What the manager reads of vLLM's own request."""
        return SimpleNamespace(
            request_id=self.request_id,
            num_tokens=self.num_tokens,
            num_prompt_tokens=self.num_tokens,
            num_in_flight_tokens=0,
            shared_prefix_boundary=0,
            num_computed_tokens=self.num_computed_tokens,
            block_hashes=self.block_hashes,
            num_preemptions=self.num_preemptions,
            skip_reading_prefix_cache=self.skip_reading_prefix_cache,
            status=RequestStatus.WAITING if self.is_waiting else RequestStatus.RUNNING,
            lora_request=None,
        )


@dataclass
class PrefixCacheStats:
    reset: bool = False
    requests: int = 0
    queries: int = 0
    hits: int = 0
    preempted_requests: int = 0
    preempted_queries: int = 0
    preempted_hits: int = 0


class ExamplePool:
    """The examples' own, as far as this manager asks."""

    def __init__(self, num_gpu_blocks: int) -> None:
        self._num_free_blocks = num_gpu_blocks - 1

    def get_num_free_blocks(self) -> int:
        return self._num_free_blocks


class KVCacheManager:
    def __init__(
        self,
        block_pool: Any,
        block_size: int,
        max_model_len: int,
        enable_caching: bool = True,
        watermark: float = 0.0,
    ) -> None:
        num_gpu_blocks = block_pool.get_num_free_blocks() + 1
        self._manager = kv_cache_manager.KVCacheManager(
            kit.kv_cache_config_of(num_gpu_blocks, block_size),
            max_model_len=max_model_len,
            scheduler_block_size=block_size,
            hash_block_size=block_size,
            enable_caching=enable_caching,
            log_stats=True,
            watermark=watermark,
        )

    @property
    def usage(self) -> float:
        return self._manager.usage

    def free_order(self) -> list[int]:
        queue = self._manager.block_pool.free_block_queue
        return [block.block_id for block in queue.get_all_free_blocks()]

    def get_computed_blocks(self, request: Request) -> tuple[list[int], int]:
        blocks, num_computed_tokens, _ = self._manager.get_computed_blocks(request.real())
        return list(blocks.get_block_ids()[0]), num_computed_tokens

    def allocate_slots(
        self,
        request: Request,
        num_new_tokens: int,
        num_new_computed_tokens: int = 0,
        new_computed_blocks: Sequence[int] = (),
        num_lookahead_tokens: int = 0,
        delay_cache_blocks: bool = False,
        full_sequence_must_fit: bool = False,
        has_scheduled_reqs: bool = False,
    ) -> list[int] | None:
        pool = self._manager.block_pool
        hit = KVCacheBlocks(([pool.blocks[block_id] for block_id in new_computed_blocks],))
        new = self._manager.allocate_slots(
            request.real(),
            num_new_tokens,
            num_new_computed_tokens,
            hit if new_computed_blocks else None,
            num_lookahead_tokens=num_lookahead_tokens,
            delay_cache_blocks=delay_cache_blocks,
            full_sequence_must_fit=full_sequence_must_fit,
            has_scheduled_reqs=has_scheduled_reqs,
        )
        return None if new is None else list(new.get_block_ids()[0])

    def cache_blocks(self, request: Request, num_computed_tokens: int) -> None:
        self._manager.cache_blocks(request.real(), num_computed_tokens)

    def free(self, request_id: str) -> None:
        self._manager.free(SimpleNamespace(request_id=request_id))

    def get_block_ids(self, request_id: str) -> list[int]:
        return list(self._manager.get_block_ids(request_id)[0])

    def get_num_common_prefix_blocks(self, running_request_id: str) -> int:
        return self._manager.get_num_common_prefix_blocks(running_request_id)[0]

    def record_prefix_cache_stats(self, request: Request, num_hits: int) -> None:
        self._manager.record_prefix_cache_stats(request.real(), num_hits)

    def make_prefix_cache_stats(self) -> PrefixCacheStats:
        stats = self._manager.make_prefix_cache_stats()
        return PrefixCacheStats(*(getattr(stats, one.name) for one in fields(PrefixCacheStats)))

    def reset_prefix_cache(self) -> bool:
        return self._manager.reset_prefix_cache()
