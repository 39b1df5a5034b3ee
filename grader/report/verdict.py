"""A verdict as a page: examples, checks with their points, stories, what to do next."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from grader.places import shown
from grader.report.check_list import STYLES, SYMBOLS, check_list
from grader.report.console import harmless
from grader.report.stories import MOST_TOLD, stories
from grader.report.words import counted
from grader.verdict import ExampleResult, GraderError, LoadError, Verdict

PRINTED_LINES = 8
DETAIL_LINES = 40
DETAIL_WIDTH = 300


def verdict_page(
    verdict: Verdict,
    submission: Path,
    width: int,
    full: bool = False,
    told: int = MOST_TOLD,
    then: RenderableType | None = None,
) -> RenderableType:
    """The whole page, which ends with what to do `then`.

    Of what failed, `told` stories are told, and all of them, with every check, if `full`.
    """
    parts: list[RenderableType] = []
    if verdict.status == "not_started":
        parts.append(Text(f"○ not started: {shown(submission)} is still the stub."))
    elif isinstance(verdict.error, LoadError):
        parts += _load_error(verdict.error, width)
    elif isinstance(verdict.error, GraderError):
        parts += _grader_error(verdict.error)
    else:
        parts += _results(verdict, width, full, told)
    if verdict.printed.strip():
        parts += [Text(), _printed(verdict.printed, full)]
    if then is not None:
        parts += [Text(), then]
    return Group(*parts)


def _load_error(error: LoadError, width: int) -> Iterator[RenderableType]:
    file = shown(Path(error.file))
    where = file if error.line is None else f"{file}:{error.line}"
    yield Text.assemble(("✗ cannot be loaded  ", "bad"), (where, "name"), overflow="fold")
    if error.source.strip():
        yield _source_line(error, width)
    for line in (error.cause, error.fix):
        yield Padding(Text(harmless(line)), (0, 0, 0, 2), expand=False)


def _source_line(error: LoadError, width: int) -> Text:
    """The line, with its number, and a `^` under the column if there is one.

    Of a line too long, what is around the column is shown.
    """
    number = f"  {error.line} │ "
    source = harmless(error.source.expandtabs(1).rstrip())
    indent = len(source) - len(source.lstrip())
    column = (error.column or 1) - 1 - indent
    source = source.strip()
    room = width - len(number)
    if column >= room:
        source = "…" + source[column - room // 2 :]
        column = room // 2 + 1
    line = source if len(source) <= room else f"{source[: room - 1]}…"
    text = Text(no_wrap=True, overflow="crop").append(number, style="quiet").append(line)
    if error.column is not None:
        blank = " " * (len(number) - 2) + "│ " + " " * max(0, min(column, len(line)))
        text.append(f"\n{blank}", style="quiet").append("^", style="bad")
    return text


def _grader_error(error: GraderError) -> Iterator[RenderableType]:
    yield Text("! the grader itself failed; this is not your doing", style="bad")
    yield Text(f"  {error.cause}")
    if error.detail:
        lines = harmless(error.detail.rstrip()).splitlines()[-DETAIL_LINES:]
        short = "\n".join(line[:DETAIL_WIDTH] for line in lines)
        yield Padding(Text(short, style="quiet"), (0, 0, 0, 4))


def _results(verdict: Verdict, width: int, full: bool, told: int) -> Iterator[RenderableType]:
    if verdict.examples:
        yield _examples_line(verdict.examples)
    if verdict.checks:
        yield check_list(verdict.checks, full)
    yield from stories(verdict, width, full, told)
    yield Text()
    yield _sum(verdict)


def _examples_line(examples: list[ExampleResult]) -> Text:
    passed = sum(one.outcome == "passed" for one in examples)
    outcome = "passed" if passed == len(examples) else "failed"
    return Text.assemble(
        (f"{SYMBOLS[outcome]} ", STYLES[outcome]),
        f"Examples of the docstrings: {passed} of {len(examples)} pass",
    )


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
