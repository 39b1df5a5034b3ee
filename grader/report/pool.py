"""The block pool as a strip of characters, a line for each step."""

from __future__ import annotations

import string
from collections.abc import Iterator

from rich.text import Text

from grader.report.occupancy import Occupancy, occupancy
from reference.trace import Trace
from reference.workload import Workload

WIDEST_POOL = 64
SPACED_POOL = 32
COLOURS = ("cyan", "magenta", "yellow", "blue", "green", "red")
LABEL_WIDTH = 11


def pool_strips(workload: Workload, trace: Trace, limit: int) -> Iterator[Text]:
    """One line a step; the steps in which nothing moved are drawn together.

    A pool too large for a line is told in a sentence instead.
    """
    blocks = workload.engine.num_gpu_blocks
    if blocks > WIDEST_POOL:
        yield Text(f"{blocks} blocks are too many to draw (at most {WIDEST_POOL}).", style="quiet")
        return
    letters = letters_of(workload)
    yield _ruler(blocks)
    drawn: list[tuple[int, int, Text]] = []
    for one in occupancy(workload, trace):
        if one.step >= limit:
            break
        strip = _strip(one, blocks, letters)
        if drawn and drawn[-1][2] == strip:
            drawn[-1] = (drawn[-1][0], one.step, strip)
        else:
            drawn.append((one.step, one.step, strip))
    for first, last, strip in drawn:
        label = f"{first}" if first == last else f"{first}–{last}"
        yield Text(label.rjust(LABEL_WIDTH - 2) + "  ", style="quiet").append_text(strip)


def pool_legend(workload: Workload) -> Text:
    """What the strip's characters mean."""
    text = Text()
    letters = letters_of(workload)
    if any(letter != request_id for request_id, letter in letters.items()):
        for request_id, letter in letters.items():
            text.append(f"{letter} {request_id}   ", style=_colour(letter))
        text.append("\n")
    if workload.engine.kv_cache_groups is not None:
        return text.append("a held   2 held by two   · free   □ the null block", style="quiet")
    text.append("a held   A held, and its hash can be found   2 held by two   ", style="quiet")
    return text.append("✓ free, hash found   · free   □ the null block", style="quiet")


def letters_of(workload: Workload) -> dict[str, str]:
    """A letter for each request: its own id where all ids are lower-case letters."""
    ids = [request.id for request in workload.requests]
    if all(len(request_id) == 1 and request_id in string.ascii_lowercase for request_id in ids):
        return {request_id: request_id for request_id in ids}
    alphabet = string.ascii_lowercase
    return {request_id: alphabet[n % len(alphabet)] for n, request_id in enumerate(ids)}


def _colour(letter: str) -> str:
    return COLOURS[string.ascii_lowercase.index(letter.lower()) % len(COLOURS)]


def _ruler(blocks: int) -> Text:
    gap = " " if blocks <= SPACED_POOL else ""
    line = Text("block".ljust(LABEL_WIDTH), style="quiet")
    step = 5
    ruler = ""
    for block in range(0, blocks, step):
        ruler += str(block).ljust(step * (1 + len(gap)))
    return line.append(ruler.rstrip(), style="quiet")


def _strip(one: Occupancy, blocks: int, letters: dict[str, str]) -> Text:
    gap = " " if blocks <= SPACED_POOL else ""
    strip = Text("□", style="quiet")
    for block in range(1, blocks):
        strip.append(gap)
        strip.append(*_block(one, block, letters))
    return strip


def _block(one: Occupancy, block: int, letters: dict[str, str]) -> tuple[str, str]:
    holders = one.holders.get(block, ())
    if len(holders) > 1:
        return str(min(len(holders), 9)), "bold"
    if holders:
        letter = letters[holders[0]]
        return (letter.upper() if block in one.hashed else letter), _colour(letter)
    return ("✓", "good") if block in one.hashed else ("·", "quiet")
