"""What a class did not understand, for its teacher."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from grader.classroom.tally import CheckTally, LessonTally

_KINDS = {
    "Mismatched": "another result",
    "Differed": "another result",
    "Unmet": "a rule does not hold",
    "WrongError": "not the right error",
    "Raised": "an error",
    "NotImplementedYet": "not written",
    "TimedOut": "too slow, or no end",
    "Died": "its process ended",
    "OutOfMemory": "too much memory",
    "BrokeProtocol": "wrote to the grader",
    "Unusable": "another kind of result",
}
_BAR = 20


def statistics_page(tallies: Sequence[LessonTally]) -> RenderableType:
    """Each lesson with its mean, and the checks that somebody missed, the hardest first."""
    return Group(*(part for each in tallies if each.points for part in _lesson(each)))


def _lesson(found: LessonTally) -> Iterator[RenderableType]:
    head = Text(found.lesson, style="head")
    head.append(f"  {found.mean:.1f} of {found.max_points} points on average", style="default")
    passed = found.statuses["passed"]
    head.append(f" · {passed} of {found.handed_in} passed", style="default")
    for status, words in (("cannot_load", "cannot be loaded"), ("not_started", "not started")):
        if number := found.statuses[status]:
            head.append(f" · {number} {words}", style="default")
    yield head
    hardest = found.hardest
    if not hardest:
        yield Text("  every check was passed by all that could be run\n", style="quiet")
        return
    table = Table(box=None, show_header=False, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold", ratio=2)
    table.add_column(style="quiet", overflow="fold", ratio=1)
    for check in hardest:
        table.add_row(
            _bar(check.share_passed), f"{check.passed}/{check.tried}", check.title, _kinds(check)
        )
    yield table
    yield Text()


def _bar(share: float) -> Text:
    filled = round(share * _BAR)
    return Text.assemble(("█" * filled, "good"), ("░" * (_BAR - filled), "quiet"))


def _kinds(check: CheckTally) -> str:
    """What went wrong most often."""
    words = [f"{number}× {_KINDS.get(kind, kind)}" for kind, number in _merged(check)[:2]]
    if check.blocked:
        words.append(f"{check.blocked}× not reached")
    return ", ".join(words)


def _merged(check: CheckTally) -> list[tuple[str, int]]:
    kinds = check.failures.copy()
    kinds["Mismatched"] += kinds.pop("Differed", 0)
    return [(kind, number) for kind, number in kinds.most_common() if number]
