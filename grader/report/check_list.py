"""The checks of a verdict, a line each; in short, those that passed are one line together."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from grader.report.failure import in_one_line
from grader.report.words import counted, listed
from grader.verdict import CheckResult, Died, NotImplementedYet, OutOfMemory, TimedOut

SYMBOLS = {"passed": "✓", "failed": "✗", "blocked": "○", "error": "!"}
STYLES = {"passed": "good", "failed": "bad", "blocked": "wait", "error": "bad"}

# What most checks come to alike, whatever their rules: it says little of each.
ALIKE = (NotImplementedYet, TimedOut, Died, OutOfMemory)

Numbered = list[tuple[int, CheckResult]]


def check_list(checks: list[CheckResult], full: bool) -> RenderableType:
    """A line for each check if `full`; else one for each that failed, and sums of the others."""
    numbered = list(enumerate(checks, start=1))
    if full:
        return _table(numbered, numbered)
    alike = [one for one in numbered if isinstance(one[1].failure, ALIKE)]
    blocked = [one for one in numbered if one[1].outcome == "blocked"]
    alone = [one for one in numbered if one not in alike and one[1].outcome in ("failed", "error")]
    parts: list[RenderableType] = [*_passed(checks), *_blocked(blocked), *_alike(alike)]
    if alone:
        parts.append(_table(alone, numbered))
    return Group(*parts)


def _passed(checks: list[CheckResult]) -> Iterator[Text]:
    passed = [check for check in checks if check.outcome == "passed"]
    if passed and len(passed) < len(checks):
        earned = sum(check.earned for check in passed)
        whole = sum(check.points for check in checks)
        yield _line("passed", f"{counted(len(passed), 'check')} passed: {earned} of {whole} points")


def _blocked(blocked: Numbered) -> Iterator[Text]:
    if blocked:
        waits = "waits" if len(blocked) == 1 else "wait"
        numbers = listed([str(number) for number, _ in blocked])
        yield _line("blocked", f"{counted(len(blocked), 'check')} {waits} for others: {numbers}")


def _alike(alike: Numbered) -> Iterator[Text]:
    """The checks that came to the same end, a line for each end or part that is not written."""
    ends: dict[str, list[str]] = {}
    for number, check in alike:
        assert check.failure is not None
        late = isinstance(check.failure, TimedOut)
        words = "a call did not come back in time" if late else in_one_line(check.failure)
        ends.setdefault(words, []).append(str(number))
    for words, numbers in ends.items():
        yield _line("failed", f"{words}: check{'s'[: len(numbers) > 1]} {listed(numbers)}")


def _line(outcome: str, words: str) -> Text:
    return Text.assemble((f"{SYMBOLS[outcome]} ", STYLES[outcome]), words)


def _table(shown: Numbered, numbered: Numbered) -> RenderableType:
    numbers = {check.name: number for number, check in numbered}
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, justify="right")
    table.add_column(no_wrap=True, justify="right")
    table.add_column(ratio=1)
    for number, check in shown:
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
