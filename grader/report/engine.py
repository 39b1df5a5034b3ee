"""A run of the engine as a page: its steps, its block pool, what became of each request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from grader.report.kv_events import event_lines
from grader.report.pool import pool_legend, pool_strips
from grader.report.steps import legend, step_panels
from grader.report.words import counted, listed
from reference.config import EngineConfig
from reference.trace import Trace
from reference.workload import Workload

if TYPE_CHECKING:
    from grader.my_engine import OwnParts


def engine_page(
    workload: Workload, trace: Trace, mine: OwnParts | None, width: int, limit: int
) -> RenderableType:
    """The whole page; `mine` names the parts that are the learner's own."""
    parts: list[RenderableType] = [_head(workload, trace, mine), Text(), legend(width)]
    for panel in step_panels(workload, trace, width, limit):
        parts += [Text(), panel]
    if len(trace.steps) > limit:
        left_out = f"… {len(trace.steps) - limit} more steps: --steps {len(trace.steps)}"
        parts.append(Text(left_out, style="quiet"))
    parts += [Text(), Text("The block pool after each step", style="head"), pool_legend(workload)]
    parts += pool_strips(workload, trace, limit)
    if workload.engine.enable_kv_cache_events:
        parts += [Text(), Text("What the prefix cache told in each step", style="head")]
        parts += event_lines(trace, limit)
    parts += [Text(), *_requests(workload, trace)]
    return Group(*parts)


def _head(workload: Workload, trace: Trace, mine: OwnParts | None) -> Text:
    engine = workload.engine
    text = Text.assemble(
        (workload.name, "bold cyan"),
        f"  {counted(len(workload.requests), 'request')}, {counted(len(trace.steps), 'step')}",
        ("" if trace.complete else f", stopped at max_steps {workload.max_steps}", "bad"),
    )
    text.append(
        f"\n{counted(engine.num_gpu_blocks, 'block')} of {_block_sizes(engine)} tokens, "
        f"{engine.token_budget} tokens a step, {counted(engine.max_num_seqs, 'seat')}, "
        f"{engine.policy}, prefix caching {'on' if engine.enable_prefix_caching else 'off'}",
        style="quiet",
    )
    for number, spec in enumerate(engine.kv_cache_groups or ()):
        sizes = ", ".join(f"{name} {value}" for name, value in spec.to_dict().items())
        text.append(f"\ngroup {number}: {sizes}", style="quiet")
    if engine.async_scheduling:
        text.append("\nasync scheduling: a step is decided before the last one is back", "quiet")
    if engine.num_speculative_tokens:
        text.append(f"\n{counted(engine.num_speculative_tokens, 'draft')} a decode", "quiet")
    if mine:
        text.append(f"\nrunning on your own {listed(mine.passed)}", style="good")
        if mine.edited:
            were = "was" if len(mine.edited) == 1 else "were"
            text.append(
                f"\nwithout {listed(mine.edited)}, which {were} edited since passing", "wait"
            )
    return text


def _block_sizes(engine: EngineConfig) -> str:
    groups = engine.kv_cache_groups or (engine,)
    return " and ".join(str(size) for size in dict.fromkeys(each.block_size for each in groups))


def _requests(workload: Workload, trace: Trace) -> Iterator[RenderableType]:
    table = Table.grid(padding=(0, 2))
    for column in range(6):
        table.add_column(justify="left" if column in (0, 5) else "right", no_wrap=True)
    heads = ("request", "prompt", "cached", "preempted", "output", "end")
    table.add_row(*(Text(head, style="head") for head in heads))
    for request in workload.requests:
        table.add_row(
            request.id,
            str(len(request.prompt_token_ids)),
            str(sum(step.num_cached_tokens.get(request.id, 0) for step in trace.steps)),
            str(sum(request.id in step.preempted_request_ids for step in trace.steps)),
            str(len(trace.outputs.get(request.id, []))),
            _end(request.id, trace),
        )
    yield table
    queries = sum(step.prefix_cache_queries for step in trace.steps)
    hits = sum(step.prefix_cache_hits for step in trace.steps)
    tokens = sum(sum(step.num_scheduled_tokens.values()) for step in trace.steps)
    line = f"{counted(tokens, 'token')} scheduled in all"
    if queries:
        line += f"; the prefix cache held {hits} of {queries} that were looked up"
    yield Text(line, style="quiet")


def _end(request_id: str, trace: Trace) -> str:
    for step in trace.steps:
        if request_id in step.finished:
            reason, stop_reason = step.finished[request_id]
            at = f" at {stop_reason}" if stop_reason is not None else ""
            return f"{reason}{at} in step {step.step}"
        if request_id in step.finished_request_ids:
            return f"aborted before step {step.step}"
    return "unfinished"
