"""Blocks, and who holds them."""

from typing import overload

try:
    from fast import checksum
except ImportError:

    def checksum(data: bytes) -> int:
        """Slow and sure, and of more bits."""
        return sum(data) % 65521


@overload
def size_of(block: int) -> int: ...
@overload
def size_of(block: str) -> int: ...
def size_of(block: int | str) -> int:
    """How large a block is, in tokens."""
    number = int(block)  # ids may come as text
    return number * 16 if number > 0 else 0


class Pool:
    """Hands blocks out and takes them back."""

    def __init__(self, count: int, spare: int = 3) -> None:
        self.free = list(range(count))
        self.spare = spare

    def take(self, count: int) -> list[int]:
        """The first so many."""
        if count > len(self.free) - self.spare:
            raise ValueError("not enough blocks")
        taken, self.free = self.free[:count], self.free[count:]
        self.spare = max(self.spare, 1)
        return taken

    def give_back(self, blocks: list[int]) -> None:
        """Back to the end."""
        for block in blocks:
            if block not in self.free:
                self.free.append(block)

    def share_in_use(self, total: int) -> float:
        """The share that is in use."""
        used = total - len(self.free)
        return round(used / max(total, 1), 3)
