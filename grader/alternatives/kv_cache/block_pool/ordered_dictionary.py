"""The free list is an OrderedDict, the copies of a content are a list."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence


class FreeKVCacheBlockQueue:
    def __init__(self, block_ids: Iterable[int]) -> None:
        self._free = OrderedDict.fromkeys(block_ids)

    @property
    def num_free_blocks(self) -> int:
        return len(self._free)

    def popleft(self) -> int:
        if not self._free:
            raise ValueError("nothing is free")
        return self._free.popitem(last=False)[0]

    def popleft_n(self, n: int) -> list[int]:
        return [self.popleft() for _ in range(n)]

    def remove(self, block_id: int) -> None:
        if block_id not in self._free:
            raise RuntimeError(f"{block_id} is not free")
        del self._free[block_id]

    def append(self, block_id: int) -> None:
        self._free[block_id] = None

    def append_n(self, block_ids: Iterable[int]) -> None:
        self._free.update(dict.fromkeys(block_ids))

    def prepend_n(self, block_ids: Sequence[int]) -> None:
        for block_id in reversed(block_ids):
            self._free[block_id] = None
            self._free.move_to_end(block_id, last=False)

    def get_all_free_blocks(self) -> list[int]:
        return list(self._free)


class BlockPool:
    def __init__(self, num_gpu_blocks: int, enable_caching: bool = True) -> None:
        self._usable = num_gpu_blocks - 1
        self._caching = enable_caching
        self._free = FreeKVCacheBlockQueue(range(1, num_gpu_blocks))
        self._users: dict[int, int] = {}  # of the blocks in use alone
        self._hash: dict[int, bytes] = {}
        self._copies: dict[bytes, list[int]] = {}

    def get_new_blocks(self, num_blocks: int) -> list[int]:
        if self._free.num_free_blocks < num_blocks:
            raise ValueError("too few blocks are free")
        blocks: list[int] = []
        while len(blocks) < num_blocks:
            block = self._free.popleft()
            self._forget(block)
            self._users[block] = 1
            blocks.append(block)
        return blocks

    def touch(self, block_ids: Iterable[int]) -> None:
        for block in filter(None, block_ids):
            if block not in self._users:
                self._free.remove(block)
            self._users[block] = self.ref_cnt(block) + 1

    def free_blocks(self, ordered_blocks: Iterable[int]) -> None:
        freed = []
        for block in filter(None, ordered_blocks):
            self._users[block] -= 1
            if not self._users[block]:
                del self._users[block]
                freed.append(block)
        at_the_end = [block for block in freed if self._caching and block in self._hash]
        self._free.prepend_n([block for block in freed if block not in at_the_end])
        self._free.append_n(at_the_end)

    def cache_full_blocks(
        self,
        block_ids: Sequence[int],
        block_hashes: Sequence[bytes],
        num_cached_blocks: int,
        num_full_blocks: int,
    ) -> None:
        pairs = list(zip(block_ids, block_hashes, strict=False))
        for block, block_hash in pairs[num_cached_blocks:num_full_blocks]:
            if block:
                assert block not in self._hash
                self._hash[block] = block_hash
                self._copies.setdefault(block_hash, []).append(block)

    def get_cached_block(self, block_hash: bytes) -> int | None:
        copies = self._copies.get(block_hash)
        return copies[0] if copies else None

    def evict_blocks(self, block_ids: Iterable[int]) -> None:
        for block in block_ids:
            self._forget(block)

    def reset_prefix_cache(self) -> bool:
        if self._users:
            return False
        self._hash, self._copies = {}, {}
        return True

    def get_usage(self) -> float:
        return len(self._users) / self._usable if self._usable else 0.0

    def get_num_free_blocks(self) -> int:
        return self._free.num_free_blocks

    def free_order(self) -> list[int]:
        return self._free.get_all_free_blocks()

    def ref_cnt(self, block_id: int) -> int:
        return self._users.get(block_id, 0)

    def block_hash(self, block_id: int) -> bytes | None:
        return self._hash.get(block_id)

    def _forget(self, block: int) -> None:
        if block in self._hash:
            self._copies[self._hash.pop(block)].remove(block)
