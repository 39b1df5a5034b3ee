"""A verdict as a page: examples, checks with their points, stories, what to type next."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grader.places import shown
from grader.report.console import harmless
from grader.report.failure import in_one_line
from grader.report.stories import stories
from grader.report.words import commands, counted, listed
from grader.verdict import (
    CheckResult,
    ExampleResult,
    GraderError,
    LoadError,
    Verdict,
)

PRINTED_LINES = 8
SYMBOLS = {"passed": "✓", "failed": "✗", "blocked": "○", "error": "!"}
STYLES = {"passed": "good", "failed": "bad", "blocked": "wait", "error": "bad"}


def verdict_page(
    verdict: Verdict,
    submission: Path,
    width: int,
    full: bool = False,
    following: str | None = None,
    what_next: bool = True,
) -> RenderableType:
    """The whole page; `following` is the lesson to go on with after a pass."""
    parts: list[RenderableType] = []
    name = verdict.lesson.split("/")[-1]
    if verdict.status == "not_started":
        parts.append(Text(f"○ not started: {shown(submission)} is still the stub."))
    elif isinstance(verdict.error, LoadError):
        parts += _load_error(verdict.error)
    elif isinstance(verdict.error, GraderError):
        parts += _grader_error(verdict.error)
    else:
        parts += _results(verdict, width, full)
    if verdict.printed.strip():
        parts += [Text(), _printed(verdict.printed, full)]
    if what_next and (lines := _what_next(verdict, name, following)):
        parts += [Text(), commands(*lines)]
    return Group(*parts)


def _load_error(error: LoadError) -> Iterator[RenderableType]:
    where = error.file if error.line is None else f"{error.file}:{error.line}"
    yield Text.assemble(("✗ cannot be loaded  ", "bad"), (where, "name"))
    for line in (error.cause, error.fix):
        yield Padding(Text(harmless(line)), (0, 0, 0, 2), expand=False)


def _grader_error(error: GraderError) -> Iterator[RenderableType]:
    yield Text("! the grader itself failed; this is not your doing", style="bad")
    yield Text(f"  {error.cause}")
    if error.detail:
        yield Padding(Text(harmless(error.detail.rstrip()), style="quiet"), (0, 0, 0, 4))


def _results(verdict: Verdict, width: int, full: bool) -> Iterator[RenderableType]:
    if verdict.examples:
        yield _examples_line(verdict.examples)
        yield Text()
    if verdict.checks:
        yield _checks_table(verdict.checks)
    yield from stories(verdict, width, full)
    yield Text()
    yield _sum(verdict)


def _examples_line(examples: list[ExampleResult]) -> Text:
    passed = sum(one.outcome == "passed" for one in examples)
    outcome = "passed" if passed == len(examples) else "failed"
    return Text.assemble(
        (f"{SYMBOLS[outcome]} ", STYLES[outcome]),
        f"Examples of the docstrings: {passed} of {len(examples)} pass",
    )


def _checks_table(checks: list[CheckResult]) -> RenderableType:
    numbers = {check.name: number for number, check in enumerate(checks, start=1)}
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, justify="right")
    table.add_column(no_wrap=True, justify="right")
    table.add_column(ratio=1)
    for number, check in enumerate(checks, start=1):
        style = STYLES[check.outcome]
        row = Text(check.title)
        if note := _note(check, numbers):
            row.append(f" ({note})", style="quiet")
        table.add_row(
            Text(SYMBOLS[check.outcome], style=style),
            Text(str(number), style="quiet"),
            Text(f"{check.earned}/{check.points}", style=style),
            row,
        )
    return table


def _note(check: CheckResult, numbers: dict[str, int]) -> str:
    """What stands behind a check's title: why it did not run, or what became of it in short."""
    if check.outcome == "blocked":
        waited_for = [str(numbers.get(name, name)) for name in check.blocked_by]
        return f"waits for {listed(waited_for)}"
    if check.outcome == "error":
        return "the check itself is broken"
    return in_one_line(check.failure) if check.failure is not None else ""


def _sum(verdict: Verdict) -> Text:
    passed = sum(check.outcome == "passed" for check in verdict.checks)
    mark = ("✓ passed", "good") if verdict.status == "passed" else ("✗ not passed yet", "bad")
    return Text.assemble(
        mark,
        f"  {verdict.points} of {counted(verdict.max_points, 'point')}",
        f" · {passed} of {counted(len(verdict.checks), 'check')} · {verdict.seconds:.1f} s",
    )


def _printed(printed: str, full: bool) -> RenderableType:
    lines = harmless(printed.rstrip("\n")).splitlines()
    hidden = 0 if full else max(0, len(lines) - PRINTED_LINES)
    more = f" (the last {PRINTED_LINES} of {len(lines)} lines)" if hidden else ""
    return Group(
        Text(f"Your code printed{more}:", style="quiet"),
        Padding(Text("\n".join(lines[hidden:]), overflow="fold"), (0, 0, 0, 2), expand=False),
    )


def _what_next(verdict: Verdict, name: str, following: str | None) -> list[tuple[str, str]]:
    if verdict.status == "passed":
        lines = [(f"vllmlings diff {name}", "your work beside the solution")]
        if following is not None:
            lines.append((f"vllmlings read {following}", "the next lesson"))
        return lines
    if verdict.status == "grader_error":
        return []
    if verdict.status == "not_started":
        return [
            (f"vllmlings read {name}", "the lesson's text"),
            (f"vllmlings watch {name}", "checks the exercise each time you save it"),
        ]
    return [
        (f"vllmlings hint {name}", "a hint, one step further each time"),
        (f"vllmlings watch {name}", "checks the exercise each time you save it"),
    ]
