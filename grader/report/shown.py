"""What the clients of a run were shown, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from reference.outputs import RequestOutput


def shown_text(shown: Mapping[str, Sequence[RequestOutput]]) -> RenderableType:
    """Each sequence of each request: its outputs one after another, and why it ended."""
    table = Table.grid(padding=(0, 2))
    for request_id, outputs in shown.items():
        indexes = sorted({each.index for output in outputs for each in output.outputs})
        for index in indexes:
            of_index = [e for output in outputs for e in output.outputs if e.index == index]
            texts = " ".join(repr(each.text) for each in of_index)
            reason = of_index[-1].finish_reason or ""
            stop = of_index[-1].stop_reason
            reason += "" if stop is None else f" at {stop!r}"
            name = request_id if len(indexes) == 1 else f"{request_id} [{index}]"
            table.add_row(Text(name, style="name"), Text(texts), Text(reason, style="quiet"))
    return Group(Text("What the clients were shown, output by output", style="head"), table)
