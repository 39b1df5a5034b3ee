"""Blocks are objects in a ring with one sentinel; a hash holds one block, or a list of several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


class Block:
    def __init__(self, block_id: int) -> None:
        self.id = block_id
        self.users = 0
        self.hash: bytes | None = None
        self.before: Block | None = None
        self.after: Block | None = None


class Ring:
    """What is behind the sentinel is the head, what is in front of it the tail."""

    def __init__(self) -> None:
        self.sentinel = Block(-1)
        self.sentinel.before = self.sentinel.after = self.sentinel
        self.length = 0

    def insert(self, block: Block, after: Block | None) -> None:
        assert after is not None
        assert after.after is not None
        block.before, block.after = after, after.after
        after.after.before = block
        after.after = block
        self.length += 1

    def remove(self, block: Block) -> None:
        if block.before is None or block.after is None:
            raise RuntimeError(f"block {block.id} is in no list")
        block.before.after, block.after.before = block.after, block.before
        block.before = block.after = None
        self.length -= 1

    def head(self) -> Block:
        if self.length == 0:
            raise ValueError("the list is empty")
        assert self.sentinel.after is not None
        return self.sentinel.after

    def __iter__(self) -> Iterator[Block]:
        block = self.sentinel.after
        while block is not self.sentinel:
            assert block is not None
            yield block
            block = block.after


class FreeKVCacheBlockQueue:
    def __init__(self, block_ids: Iterable[int]) -> None:
        self._blocks = {block_id: Block(block_id) for block_id in block_ids}
        self._ring = Ring()
        self.append_n(self._blocks)

    @property
    def num_free_blocks(self) -> int:
        return self._ring.length

    def popleft(self) -> int:
        block = self._ring.head()
        self._ring.remove(block)
        return block.id

    def popleft_n(self, n: int) -> list[int]:
        return [self.popleft() for _ in range(n)]

    def remove(self, block_id: int) -> None:
        self._ring.remove(self._blocks[block_id])

    def append(self, block_id: int) -> None:
        self._ring.insert(self._blocks[block_id], self._ring.sentinel.before)

    def append_n(self, block_ids: Iterable[int]) -> None:
        for block_id in block_ids:
            self.append(block_id)

    def prepend_n(self, block_ids: Iterable[int]) -> None:
        last = self._ring.sentinel
        for block_id in block_ids:
            self._ring.insert(self._blocks[block_id], last)
            last = self._blocks[block_id]

    def get_all_free_blocks(self) -> list[int]:
        return [block.id for block in self._ring]


class BlockPool:
    def __init__(self, num_gpu_blocks: int, enable_caching: bool = True) -> None:
        self._blocks = [Block(block_id) for block_id in range(num_gpu_blocks)]
        self._enable_caching = enable_caching
        self._free = Ring()
        for block in self._blocks[1:]:
            self._free.insert(block, self._free.sentinel.before)
        self._cached: dict[bytes, Block | list[Block]] = {}

    def get_new_blocks(self, num_blocks: int) -> list[int]:
        if num_blocks > self._free.length:
            raise ValueError(f"{num_blocks} blocks wanted, {self._free.length} free")
        taken = []
        for _ in range(num_blocks):
            block = self._free.head()
            self.touch([block.id])
            self.evict_blocks([block.id])
            taken.append(block.id)
        return taken

    def touch(self, block_ids: Iterable[int]) -> None:
        for block_id in block_ids:
            block = self._blocks[block_id]
            if block_id != 0 and block.users == 0:
                self._free.remove(block)
            block.users += 1

    def free_blocks(self, ordered_blocks: Iterable[int]) -> None:
        front = self._free.sentinel
        for block in map(self._blocks.__getitem__, ordered_blocks):
            block.users -= 1
            if block.id == 0 or block.users > 0:
                continue
            if block.hash is not None and self._enable_caching:
                self._free.insert(block, self._free.sentinel.before)
            else:
                self._free.insert(block, front)
                front = block

    def cache_full_blocks(
        self,
        block_ids: Sequence[int],
        block_hashes: Sequence[bytes],
        num_cached_blocks: int,
        num_full_blocks: int,
    ) -> None:
        for i in range(num_cached_blocks, num_full_blocks):
            if block_ids[i] == 0:
                continue
            block, key = self._blocks[block_ids[i]], block_hashes[i]
            if block.hash is not None:
                raise AssertionError(f"block {block.id} has a hash")
            block.hash = key
            holders = self._cached.get(key)
            if holders is None:
                self._cached[key] = block
            elif isinstance(holders, list):
                holders.append(block)
            else:
                self._cached[key] = [holders, block]

    def get_cached_block(self, block_hash: bytes) -> int | None:
        holders = self._cached.get(block_hash)
        if holders is None:
            return None
        return holders[0].id if isinstance(holders, list) else holders.id

    def evict_blocks(self, block_ids: Iterable[int]) -> None:
        for block in map(self._blocks.__getitem__, block_ids):
            if block.hash is None:
                continue
            holders = self._cached[block.hash]
            if isinstance(holders, list) and len(holders) > 1:
                holders.remove(block)
            else:
                del self._cached[block.hash]
            block.hash = None

    def reset_prefix_cache(self) -> bool:
        if any(block.users for block in self._blocks[1:]):
            return False
        self.evict_blocks(range(len(self._blocks)))
        return True

    def get_usage(self) -> float:
        usable = len(self._blocks) - 1
        return (usable - self._free.length) / max(usable, 1)

    def get_num_free_blocks(self) -> int:
        return self._free.length

    def free_order(self) -> list[int]:
        return [block.id for block in self._free]

    def ref_cnt(self, block_id: int) -> int:
        return self._blocks[block_id].users

    def block_hash(self, block_id: int) -> bytes | None:
        return self._blocks[block_id].hash
