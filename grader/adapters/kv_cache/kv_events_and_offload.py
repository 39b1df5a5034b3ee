"""vLLM's own events, publisher and offloading manager behind the lesson's interface.

The pool is one of vLLM's own; that which is handed in only says how many blocks there are. vLLM
has no consumer of events, so the index is a plain count of them.
"""

from collections import Counter, deque
from collections.abc import Sequence
from itertools import count
from queue import Queue
from types import SimpleNamespace
from typing import Any

import msgspec
from vllm.distributed import kv_events
from vllm.v1.core import block_pool, kv_cache_utils
from vllm.v1.kv_offload.base import ReqContext, get_offload_block_hash, make_offload_key
from vllm.v1.kv_offload.cpu import manager as cpu_manager
from vllm.v1.kv_offload.cpu.policies import arc, lru
from vllm.v1.kv_offload.cpu.policies.base import ChunkStatus

PRELOAD = ("vllm.v1.core.block_pool", "vllm.v1.kv_offload.cpu.manager")

GROUP = 0
CONTEXT = ReqContext("r")


class ExamplePool:
    """The examples' own, as far as this pool asks."""

    def __init__(self, num_gpu_blocks: int) -> None:
        self._num_free_blocks = num_gpu_blocks - 1

    def get_num_free_blocks(self) -> int:
        return self._num_free_blocks


def external_block_hash(block_hash: bytes) -> int:
    published = kv_cache_utils.maybe_convert_block_hash(kv_cache_utils.BlockHash(block_hash))
    assert isinstance(published, int)
    return published


class EventingPool:
    def __init__(self, pool: Any, block_size: int) -> None:
        self.block_size = block_size
        self._pool = block_pool.BlockPool(
            pool.get_num_free_blocks() + 1, True, block_size, enable_kv_cache_events=True
        )

    def _blocks(self, block_ids: Sequence[int]) -> list[kv_cache_utils.KVCacheBlock]:
        return [self._pool.blocks[block_id] for block_id in block_ids]

    def get_new_blocks(self, num_blocks: int) -> list[int]:
        return [block.block_id for block in self._pool.get_new_blocks(num_blocks)]

    def touch(self, block_ids: Sequence[int]) -> None:
        self._pool.touch(self._blocks(block_ids))

    def free_blocks(self, ordered_blocks: Sequence[int]) -> None:
        self._pool.free_blocks(self._blocks(ordered_blocks))

    def cache_full_blocks(
        self,
        block_ids: Sequence[int],
        block_hashes: Sequence[bytes],
        token_ids: Sequence[int],
        num_cached_blocks: int,
        num_full_blocks: int,
    ) -> None:
        request = SimpleNamespace(
            block_hashes=list(block_hashes),
            all_token_ids=list(token_ids),
            mm_features=[],
            lora_request=None,
            cache_salt=None,
            prompt_embeds=None,
            session_id=None,
        )
        self._pool.cache_full_blocks(
            request,
            self._blocks(block_ids),
            num_cached_blocks,
            num_full_blocks,
            self.block_size,
            GROUP,
        )

    def reset_prefix_cache(self) -> bool:
        return self._pool.reset_prefix_cache()

    def take_events(self) -> list[dict[str, Any]]:
        names = {
            "BlockStored": ("block_hashes", "parent_block_hash", "token_ids", "block_size"),
            "BlockRemoved": ("block_hashes",),
            "AllBlocksCleared": (),
        }
        kinds = [(type(event).__name__, event) for event in self._pool.take_events()]
        return [
            {"type": kind} | {name: getattr(event, name) for name in names[kind]}
            for kind, event in kinds
        ]

    def get_cached_block(self, block_hash: bytes) -> int | None:
        blocks = self._pool.get_cached_block(kv_cache_utils.BlockHash(block_hash), [GROUP])
        return blocks[0].block_id if blocks else None

    def block_hash(self, block_id: int) -> bytes | None:
        key = self._pool.blocks[block_id].block_hash
        return None if key is None else kv_cache_utils.get_block_hash(key)

    def ref_cnt(self, block_id: int) -> int:
        return self._pool.blocks[block_id].ref_cnt

    def get_num_free_blocks(self) -> int:
        return self._pool.get_num_free_blocks()

    def get_usage(self) -> float:
        return self._pool.get_usage()

    def free_order(self) -> list[int]:
        return [block.block_id for block in self._pool.free_block_queue.get_all_free_blocks()]


class PrefixIndex:
    def __init__(self) -> None:
        self._copies: Counter[int] = Counter()

    def apply(self, events: Sequence[dict[str, Any]]) -> None:
        for event in events:
            if event["type"] == "AllBlocksCleared":
                self._copies.clear()
            elif event["type"] == "BlockStored":
                self._copies.update(event["block_hashes"])
            else:
                self._copies.subtract(event["block_hashes"])
                self._copies = +self._copies

    def copies(self, block_hash: int) -> int:
        return self._copies[block_hash]


class Socket:
    """Stands in for both sockets: keeps what is sent, and asks for one replay."""

    def __init__(self, start: int = 0) -> None:
        self.sent: list[tuple[bytes, ...]] = []
        self._start = start

    def send_multipart(self, frames: tuple[bytes, ...]) -> None:
        self.sent.append(frames)

    def recv_multipart(self) -> list[bytes]:
        return [b"client", b"", self._start.to_bytes(8, "big")]


class Publisher:
    """vLLM's publisher without its thread: the thread's loop is run whenever there is a batch."""

    def __init__(self, buffer_steps: int) -> None:
        real: Any = kv_events.ZmqEventPublisher.__new__(kv_events.ZmqEventPublisher)
        real._data_parallel_rank = 0
        real._event_queue = Queue()
        real._buffer = deque(maxlen=buffer_steps)
        real._seq_gen = count()
        real._topic_bytes = b""
        real._pub, real._replay = Socket(), None
        self._publisher = real

    def publish(self, events: Sequence[dict[str, Any]]) -> int:
        real = self._publisher
        real._running = True
        real.publish(kv_events.EventBatch(ts=0.0, events=list(events)))
        # The loop goes on while there is a batch, and then ends.
        real._running, real._replay = False, None
        real._publisher_thread()
        return int.from_bytes(real._pub.sent[-1][1], "big")

    def replay(self, start: int) -> list[tuple[int, list[dict[str, Any]]]]:
        socket = self._publisher._replay = Socket(start)
        self._publisher._service_replay()
        return [
            (
                int.from_bytes(seq, "big", signed=True),
                msgspec.msgpack.decode(payload)[1] if payload else [],
            )
            for _client, _empty, _topic, seq, payload in socket.sent
        ]


Chunk = ChunkStatus


class _Policy:
    """One of vLLM's policies, whose ``touch`` here needs no request."""

    def __init__(self, policy: Any) -> None:
        self._policy = policy

    def __getattr__(self, name: str) -> Any:
        return getattr(self._policy, name)

    def touch(self, keys: Sequence[bytes]) -> None:
        self._policy.touch(keys, CONTEXT)


class LRUCachePolicy(_Policy):
    def __init__(self, cache_capacity: int) -> None:
        super().__init__(lru.LRUCachePolicy(cache_capacity))

    @property
    def evictable(self) -> Any:
        return self._policy.evictable_chunks


class ARCCachePolicy(_Policy):
    def __init__(self, cache_capacity: int) -> None:
        super().__init__(arc.ARCCachePolicy(cache_capacity))


class CPUOffloadingManager:
    def __init__(
        self,
        num_chunks: int,
        cache_policy: str = "lru",
        store_threshold: int = 1,
        max_tracker_size: int = 64_000,
    ) -> None:
        self._manager = cpu_manager.CPUOffloadingManager(
            num_chunks,
            cache_policy,
            enable_events=True,
            store_threshold=store_threshold,
            max_tracker_size=max_tracker_size,
        )

    def lookup(self, key: bytes) -> str:
        return self._manager.lookup(make_offload_key(key, GROUP), CONTEXT).name

    def touch(self, keys: Sequence[bytes]) -> None:
        self._manager.touch(_offloaded(keys), CONTEXT)

    def prepare_store(
        self, keys: Sequence[bytes]
    ) -> tuple[list[bytes], list[int], list[bytes]] | None:
        output = self._manager.prepare_store(_offloaded(keys), CONTEXT)
        if output is None:
            return None
        ids = _ids(output.store_spec)
        return _plain(output.keys_to_store), ids, _plain(output.evicted_keys)

    def complete_store(self, keys: Sequence[bytes], success: bool = True) -> None:
        self._manager.complete_store(_offloaded(keys), CONTEXT, success)

    def prepare_load(self, keys: Sequence[bytes]) -> list[int]:
        return _ids(self._manager.prepare_load(_offloaded(keys), CONTEXT))

    def complete_load(self, keys: Sequence[bytes]) -> None:
        self._manager.complete_load(_offloaded(keys), CONTEXT)

    def take_events(self) -> list[dict[str, Any]]:
        events = list(self._manager.take_events())
        return [{"keys": _plain(event.keys), "removed": event.removed} for event in events]

    def reset_cache(self) -> None:
        self._manager.reset_cache()


def _offloaded(keys: Sequence[bytes]) -> list[Any]:
    return [make_offload_key(key, GROUP) for key in keys]


def _plain(keys: Sequence[Any]) -> list[bytes]:
    return [get_offload_block_hash(key) for key in keys]


def _ids(spec: Any) -> list[int]:
    return [int(each) for each in spec.block_ids]
