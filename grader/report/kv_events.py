"""What a run's prefix cache told of itself, a line for each event."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.text import Text

from grader.report.words import counted
from reference.trace import Trace

#: Hexadecimal digits by which a reader tells hashes apart.
SHOWN_DIGITS = 4


def event_lines(trace: Trace, limit: int) -> Iterator[Text]:
    """The events of the first `limit` steps, each step's number with its first."""
    for step in trace.steps[:limit]:
        for number, event in enumerate(step.kv_events):
            label = str(step.step) if number == 0 else ""
            yield Text.assemble((f"{label:>5}  ", "quiet"), *_told(event))


def _told(event: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if event["type"] == "AllBlocksCleared":
        yield "cleared", "bad"
        return
    stored = event["type"] == "BlockStored"
    yield ("stored " if stored else "removed"), "good" if stored else "bad"
    yield f" {' '.join(map(_hash, event['block_hashes'])) or 'nothing'}", "name"
    if stored:
        parent = event["parent_block_hash"]
        behind = "at the start" if parent is None else f"behind {_hash(parent)}"
        yield f" {behind}, {counted(len(event['token_ids']), 'token')}", "default"
    if event["group_idx"]:
        yield f", group {event['group_idx']}", "quiet"


def _hash(block_hash: int) -> str:
    return f"…{block_hash & (1 << 4 * SHOWN_DIGITS) - 1:0{SHOWN_DIGITS}x}"
