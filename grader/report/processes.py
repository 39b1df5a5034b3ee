"""A run in two processes as a page."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from grader.processes.run import ProcessesReport
from grader.report.shown import shown_text
from grader.report.words import counted
from reference.workload import Workload

WAYS = {
    "ADD": "front ROUTER → DEALER core",
    "ABORT": "front ROUTER → DEALER core",
    "UTILITY": "front ROUTER → DEALER core",
    "outputs": "core PUSH → PULL front",
}


def processes_page(workload: Workload, report: ProcessesReport) -> RenderableType:
    """The processes, the messages between them, and the text that came of it."""
    head = Text.assemble((workload.name, "bold cyan"), "  in two processes over ZMQ")
    processes = Table.grid(padding=(0, 2))
    processes.add_row("  API server", f"pid {report.front_pid}", "input processor, detokenizer")
    processes.add_row("  engine core", f"pid {report.core_pid}", "scheduler, KV cache, model")
    messages = Table.grid(padding=(0, 2))
    for kind, way in WAYS.items():
        if count := report.messages.get(kind):
            size = f"{report.num_bytes[kind]} bytes"
            messages.add_row(f"  {kind}", Text(way, style="quiet"), counted(count, "message"), size)
    title = Text("What went over the sockets", style="head")
    shown = shown_text(report.shown)
    return Group(head, processes, Text(), title, messages, Text(), shown)
