"""What the real code of both releases did, beside the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from grader.capstone.measure import Compared

SHOWN = 5


def measured_page(compared: Mapping[int, Sequence[Compared]]) -> RenderableType:
    """A line for each capstone and release, and every fact in which the model is wrong."""
    table = Table(box=None, padding=(0, 1), pad_edge=False, header_style="head")
    for head in ("", "capstone", "side", "release", "runs", "facts"):
        table.add_column(head, justify="right" if head in ("runs", "facts") else "left")
    wrong: list[RenderableType] = []
    for number, all_of_it in compared.items():
        for side in ("before", "after"):
            these = [one for one in all_of_it if one.side == side]
            agree = all(one.agrees for one in these)
            table.add_row(
                Text("✓", style="good") if agree else Text("✗", style="bad"),
                str(number),
                side,
                these[0].release,
                str(len(these)),
                f"{sum(len(one.facts) for one in these):,}",
            )
            for one in these:
                wrong += _wrong(one)
    return Group(table, *wrong)


def _wrong(one: Compared) -> Iterator[Text]:
    if one.agrees:
        return
    who = f" of student {one.student}" if one.student else ""
    yield Text(f"\n{one.scenario}{who}, {one.side}: the model is wrong", style="bad")
    for name in one.differing[:SHOWN]:
        yield Text(f"  {name}: model {one.model.get(name)}, {one.release} {one.facts.get(name)}")
    if len(one.differing) > SHOWN:
        yield Text(f"  and {len(one.differing) - SHOWN} more")
