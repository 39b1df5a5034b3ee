"""One request's way through the engine as a page."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from grader.following import Journey, Stop
from reference.workload import Workload

#: Steps that are told in full; those after them are much alike.
TOLD_IN_FULL = 1


def follow_page(workload: Workload, journey: Journey) -> RenderableType:
    """The whole story: the way in, the steps, the way out."""
    head = Text.assemble((workload.name, "bold cyan"), f"  request {journey.request_id}")
    head.append(f"\n{', '.join(journey.ids)} in the engine core", style="quiet")
    parts: list[RenderableType] = [head]
    full: set[int] = set()
    short = Table.grid(padding=(0, 2))
    for step, group in groupby(journey.stops, key=lambda stop: stop.step):
        stops = list(group)
        if step is None:
            parts += [Text(), *_in_full(stops)]
            continue
        is_new = step not in full and any("schedule" in stop.symbol for stop in stops)
        if len(full) < TOLD_IN_FULL or step in full:
            full |= {step} if is_new else set()
            parts += [Text(), Text(f"step {step}", style="head"), *_in_full(stops)]
        else:
            short = short if short is parts[-1] else Table.grid(padding=(0, 2))
            _in_short(step, stops, short)
            parts += [] if short is parts[-1] else [Text(), short]
    return Group(*parts)


def _in_full(stops: list[Stop]) -> Iterator[Text]:
    """Each place with its file, under the process that it belongs to."""
    for process, group in groupby(stops, key=lambda stop: stop.process):
        yield Text(f"  in the {process}", style="head")
        for stop in group:
            text = Text.assemble("    ", (stop.name, "name"), (f"  {stop.file}", "quiet"))
            text.append(f"\n      {stop.what}")
            if stop.queue:
                text.append(f"\n      ↓ {stop.queue}", style="wait")
            yield text


def _in_short(step: int, stops: list[Stop], table: Table) -> None:
    """What is worth telling of a step that takes the same way as the one before it."""
    for place, stop in enumerate(each for each in stops if each.is_news):
        head = f"step {step}" if place == 0 else ""
        table.add_row(Text(head, style="head"), Text(stop.name, style="name"), stop.what)
