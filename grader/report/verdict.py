"""A verdict as a page: examples, checks with their points, stories, what to type next."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from grader.places import shown
from grader.report.console import harmless
from grader.report.failure import in_one_line, tell
from grader.report.words import commands, counted, listed
from grader.verdict import (
    CheckResult,
    ExampleResult,
    GraderError,
    LoadError,
    NotImplementedYet,
    Verdict,
)

STORIES = 2
PRINTED_LINES = 8
SYMBOLS = {"passed": "✓", "failed": "✗", "blocked": "○", "error": "!"}
# A label, a title, and the story under it.
_Told = tuple[str, str, Iterator[RenderableType]]
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
    yield Text(f"  {harmless(error.cause)}")
    if error.fix:
        yield Text(f"  {harmless(error.fix)}")


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
    yield from _stories(verdict, width, full)
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


def _stories(verdict: Verdict, width: int, full: bool) -> Iterator[RenderableType]:
    told = [*_example_stories(verdict, width, full), *_check_stories(verdict, width, full)]
    # An example is read fast and says little: one of them, then the first checks.
    shown = told if full else [*_of(told, "example")[:1], *_of(told, "check")[:STORIES]]
    for label, title, lines in shown:
        yield Text()
        yield Rule(Text.assemble(("✗ ", "bad"), label), align="left", style="quiet")
        yield Text(title, style="head")
        yield Padding(Group(*lines), (0, 0, 0, 2), expand=False)
    if len(told) > len(shown):
        name = verdict.lesson.split("/")[-1]
        yield Text()
        yield Text(
            f"{len(told) - len(shown)} more failed; all stories: vllmlings grade {name} --full",
            style="quiet",
        )


def _of(told: list[_Told], kind: str) -> list[_Told]:
    return [one for one in told if one[0].startswith(kind)]


def _example_stories(verdict: Verdict, width: int, full: bool) -> Iterator[_Told]:
    for example in verdict.examples:
        if example.outcome != "passed" and example.failure is not None:
            story = tell(example.failure, width - 2, full)
            yield "example", f"The example of {example.name}", story


def _check_stories(verdict: Verdict, width: int, full: bool) -> Iterator[_Told]:
    # What is written but wrong comes before what is not written yet.
    numbered = enumerate(verdict.checks, start=1)
    for number, check in sorted(numbered, key=lambda pair: _is_unwritten(pair[1])):
        if check.outcome == "failed" and check.failure is not None:
            story = _check_story(check, verdict.lesson, width, full)
            yield f"check {number}", check.title, story


def _is_unwritten(check: CheckResult) -> bool:
    return isinstance(check.failure, NotImplementedYet)


def _check_story(
    check: CheckResult, lesson: str, width: int, full: bool
) -> Iterator[RenderableType]:
    if check.failure is not None:
        yield from tell(check.failure, width - 2, full)
    yield Text.assemble(("The rule: ", "quiet"), f"exercises/{lesson}.md > {check.rule}")


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
