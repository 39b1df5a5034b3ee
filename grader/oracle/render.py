"""How a differential run and its disagreement look to a person."""

from dataclasses import fields

import yaml
from rich.console import Console, Group, RenderableType
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from grader.oracle.differential import DiffReport, Disagreement
from grader.oracle.front.differential import FrontReport
from grader.oracle.situations import SITUATIONS
from reference.trace import StepRecord

ABSENT = "-"
MARK = "≠"


def print_report(report: DiffReport, console: Console, *, counts: bool = True) -> None:
    """Print what a differential run found."""
    console.print(summary(report))
    if counts and report.agrees:
        console.print(situation_table(report))
    if report.disagreement is not None:
        console.print(disagreement(report.disagreement))


def front_line(report: FrontReport) -> str:
    """One part of the front: do they agree, and if not, on which script they do not."""
    found = report.disagreement
    if found is None:
        return f"✓ {report.kind}: {report.examples} scripts, the same on both"
    parts = {"script": found.script, "reference": found.reference, "vLLM": found.real}
    lines = [f"  {name}: {value}" for name, value in parts.items()]
    return "\n".join([f"✗ {report.kind}: they differ after {report.examples} scripts", *lines])


def summary(report: DiffReport) -> Text:
    """One line: did they agree, on how much, with which seed."""
    scope = (
        f"{report.examples} drawn workloads, {report.steps} steps, "
        f"seed {report.seed}, {report.seconds:.0f} s"
    )
    if report.agrees:
        return Text(f"agree: {scope}", style="bold green")
    return Text(f"DISAGREE after {scope}", style="bold red")


def situation_table(report: DiffReport) -> Table:
    """How often each situation arose; one that never did is said so in words."""
    table = Table("situation", "times", box=None, pad_edge=False)
    for name in SITUATIONS:
        times = report.counts[name]
        table.add_row(name, str(times) if times else "never", style="" if times else "yellow")
    return table


def disagreement(found: Disagreement) -> RenderableType:
    """The shrunk workload, then the two records of the first differing step side by side."""
    text = yaml.safe_dump(found.workload, sort_keys=False, default_flow_style=None, width=96)
    parts: list[RenderableType] = [
        Text("The smallest workload on which they differ", style="bold"),
        Syntax(text, "yaml", background_color="default", word_wrap=True),
    ]
    if found.problem:
        parts.append(Text(f"{MARK} {found.problem}", style="bold red"))
    if found.reference or found.real:
        parts.append(side_by_side(found))
    return Group(*parts)


def side_by_side(found: Disagreement) -> Table:
    """Both engines' records of the step, a row for each field, the differing ones marked."""
    table = Table("", f"step {found.step}", "reference", "vLLM", show_lines=False, expand=False)
    for field in fields(StepRecord):
        ours, theirs = found.values(field.name)
        differs = field.name in found.fields
        if not (differs or ours or theirs) or field.name == "step":
            continue
        table.add_row(
            MARK if differs else "",
            field.name,
            _value(ours),
            _value(theirs),
            style="bold red" if differs else "dim",
        )
    return table


def _value(value: object) -> str:
    if value is None:
        return ABSENT
    if isinstance(value, dict):
        return "  ".join(f"{key}: {_value(item)}" for key, item in value.items()) or "{}"
    return str(value)
