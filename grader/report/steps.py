"""An engine's steps as a table: a row for each request, a column for each step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from reference.trace import StepRecord, Trace
from reference.workload import Workload, WorkloadRequest

LEGEND = (
    ("p8", "name", "8 tokens of a prompt that is not done"),
    ("P8", "name", "its last 8, and a token sampled"),
    ("d1", "default", "decode"),
    ("x1", "quiet", "decode whose output is ignored"),
    ("+16", "good", "tokens found in the prefix cache"),
    ("×", "bad", "preempted"),
    ("■", "good", "finished"),
    ("†", "bad", "aborted"),
    ("·", "quiet", "waits"),
)


@dataclass(frozen=True, slots=True)
class Cell:
    """What happened to one request in one step: pieces of text with their styles."""

    pieces: tuple[tuple[str, str], ...] = ()

    @property
    def width(self) -> int:
        return sum(cell_len(text) for text, _ in self.pieces)


def cell(request: WorkloadRequest, step: StepRecord, reported: frozenset[str]) -> Cell:
    """One request in one step; `reported` ended with an output, all others by an abort."""
    name = request.id
    pieces: list[tuple[str, str]] = []
    scheduled = step.num_scheduled_tokens.get(name, 0)
    if scheduled:
        pieces.append(_tokens(request, step, scheduled))
        if hit := step.num_cached_tokens.get(name, 0):
            pieces.append((f"+{hit}", "good"))
    if name in step.preempted_request_ids:
        pieces.append(("×", "bad"))
    if name in step.finished:
        aborted = step.finished[name][0] == "abort"
        pieces.append(("†", "bad") if aborted else ("■", "good"))
    elif name in step.finished_request_ids and name not in reported:
        pieces.append(("†", "bad"))
    if not pieces and name in step.waiting:
        pieces.append(("·", "quiet"))
    return Cell(tuple(pieces))


def legend(width: int) -> Text:
    """What the marks mean, filled into lines."""
    lines = [Text()]
    for mark, style, words in LEGEND:
        entry = Text.assemble((mark, style), (f" {words}", "quiet"))
        if lines[-1].cell_len and lines[-1].cell_len + entry.cell_len + 3 > width:
            lines.append(Text())
        if lines[-1].cell_len:
            lines[-1].append("   ")
        lines[-1].append_text(entry)
    return Text("\n").join(lines)


def step_panels(workload: Workload, trace: Trace, width: int, limit: int) -> Iterator[Text]:
    """The table in panels, each as many steps as fit in `width` columns, `limit` steps in all."""
    steps = trace.steps[:limit]
    reported = frozenset(name for step in trace.steps for name in step.finished)
    heads = [str(step.step) for step in steps]
    rows = {
        request.id: [cell(request, step, reported) for step in steps]
        for request in workload.requests
    }
    sums = [str(sum(step.num_scheduled_tokens.values())) for step in steps]
    free = [str(step.num_free_blocks) for step in steps]
    label_width = max(len("free blocks"), *(cell_len(name) for name in rows)) if rows else 11
    label_width = min(label_width, width // 3)
    first = 0
    while first < len(steps):
        columns = _columns(first, [heads, sums, free], list(rows.values()), width - label_width)
        last = first + len(columns)
        panel = [_plain_row("step", heads[first:last], columns, label_width, "head")]
        for name, cells in rows.items():
            if any(cells[first:last][index].pieces for index in range(last - first)):
                panel.append(_row(name, cells[first:last], columns, label_width))
        panel.append(_plain_row("tokens", sums[first:last], columns, label_width, "quiet"))
        panel.append(_plain_row("free blocks", free[first:last], columns, label_width, "quiet"))
        yield Text("\n").join(panel)
        first = last


def _tokens(request: WorkloadRequest, step: StepRecord, scheduled: int) -> tuple[str, str]:
    computed = step.num_computed_tokens.get(request.id, 0)
    num_drafts = len(step.scheduled_spec_decode_tokens.get(request.id, ()))
    is_decode = scheduled == 1 + num_drafts and computed >= len(request.prompt_token_ids)
    if not step.sampled_token_ids.get(request.id):
        return (f"x{scheduled}", "quiet") if is_decode else (f"p{scheduled}", "name")
    if is_decode:
        return f"d{scheduled}", "default"
    return f"P{scheduled}", "name"


def _columns(first: int, texts: list[list[str]], rows: list[list[Cell]], room: int) -> list[int]:
    """The widths of as many columns as fit, from the step at `first` on; at least one."""
    widths: list[int] = []
    for index in range(first, len(texts[0])):
        widest = max(*(len(row[index]) for row in texts), *(row[index].width for row in rows), 1)
        if widths and sum(widths) + widest + 2 > room:
            break
        widths.append(widest + 2)
    return widths


def _row(name: str, cells: list[Cell], columns: list[int], label_width: int) -> Text:
    label = name if cell_len(name) <= label_width else name[: label_width - 1] + "…"
    line = Text(label.ljust(label_width), style="default")
    for one, column in zip(cells, columns, strict=True):
        line.append(" " * (column - one.width))
        for text, style in one.pieces:
            line.append(text, style=style)
    return line


def _plain_row(
    label: str, texts: list[str], columns: list[int], label_width: int, style: str
) -> Text:
    line = Text(label.ljust(label_width), style=style)
    for text, column in zip(texts, columns, strict=True):
        line.append(text.rjust(column), style=style)
    return line
