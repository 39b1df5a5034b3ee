"""Blocks."""

from typing import overload

try:
    from fast import checksum
except ImportError:

    def checksum(data: bytes) -> int:
        """Slow and sure."""
        return sum(data) % 255


@overload
def size_of(block: int) -> int: ...
@overload
def size_of(block: str) -> int: ...
def size_of(block: int | str) -> int:
    """How large a block is."""
    number = int(block)
    return number * 16 if number > 0 else 0


class Pool:
    """Hands blocks out and takes them back."""

    def __init__(self, count: int, spare: int = 2) -> None:
        self.free = list(range(count))
        self.spare = spare

    def take(self, count: int) -> list[int]:
        """The first so many."""
        if count > len(self.free) - self.spare:
            raise ValueError("not enough blocks")
        taken, self.free = self.free[:count], self.free[count:]
        return taken

    def give(self, blocks: list[int]) -> None:
        """Back to the end."""
        for block in blocks:
            if block not in self.free:
                self.free.append(block)

    def usage(self, total: int) -> float:
        """The share that is in use."""
        used = total - len(self.free)
        return round(used / max(total, 1), 2)

    def reset(self) -> None:
        """Forget all."""
        self.free.clear()


def plan(lengths: list[int], size: int) -> list[int]:
    """How many blocks each needs."""
    needed = []
    for length in lengths:
        blocks = -(-length // size)
        needed.append(max(blocks, 1))
    return needed


def score(waiting: int, running: int, usage: float) -> float:
    """How loaded an engine is."""
    total = float(waiting + running)
    if waiting:
        total += waiting * 6.0 * max(0.0, usage - 0.5)
    return total


def is_empty(blocks: list[int]) -> bool:
    """Nothing in there?"""
    return not blocks
