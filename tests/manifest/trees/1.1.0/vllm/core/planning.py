"""Sums about blocks."""


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
        total += waiting * 7.0 * max(0.0, usage - 0.5)
    return total
