"""The stories of what failed: all of them, or the few that are worth reading first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from grader.report.failure import tell
from grader.verdict import AnyFailure, Died, NotImplementedYet, OutOfMemory, TimedOut, Verdict

# An example, which is read fast, and two checks.
MOST_TOLD = 3
# One of these stands for all of its kind: every check meets the same endless loop.
_ALIKE = (TimedOut, Died, OutOfMemory)


@dataclass(frozen=True, slots=True)
class _Failed:
    """A failed example, or a failed check with the place of its rule."""

    label: str
    title: str
    failure: AnyFailure
    rule: str | None = None


def stories(verdict: Verdict, width: int, full: bool, told: int) -> Iterator[RenderableType]:
    """What failed, under a line for each; all of it if `full`, else what to look at first.

    At most `told` stories then, and no more than `MOST_TOLD`.
    """
    failed = [*_examples(verdict), *_checks(verdict)]
    chosen = failed if full else _first_to_read(failed)[:told]
    for one in chosen:
        yield Text()
        yield Rule(Text.assemble(("✗ ", "bad"), one.label), align="left", style="quiet")
        yield Text(one.title, style="head")
        lines: list[RenderableType] = [*tell(one.failure, width - 2, full)]
        if one.rule is not None:
            lines.append(Text.assemble(("The rule: ", "quiet"), one.rule))
        yield Padding(Group(*lines), (0, 0, 0, 2), expand=False)
    if left_out := len(failed) - len(chosen):
        name = verdict.lesson.split("/")[-1]
        more = f"{left_out} more failed; all stories: vllmlings grade {name} --full"
        yield Text()
        yield Text(more, style="quiet")


def _first_to_read(failed: list[_Failed]) -> list[_Failed]:
    """One example, which is read fast, then the first checks."""
    distinct = list(_without_the_alike(failed))
    examples = [one for one in distinct if one.rule is None]
    checks = [one for one in distinct if one.rule is not None]
    return [*examples[:1], *checks[: MOST_TOLD - 1]]


def _without_the_alike(failed: Iterable[_Failed]) -> Iterator[_Failed]:
    told: set[type] = set()
    failed = list(failed)
    # Of the calls that never came back, tell of the one that was waited for longest.
    longest = max((_waited(one) for one in failed), default=0.0)
    for one in failed:
        if _waited(one) < longest and isinstance(one.failure, TimedOut):
            continue
        kind = type(one.failure)
        if kind not in told or kind not in _ALIKE:
            yield one
        told.add(kind)


def _waited(one: _Failed) -> float:
    return one.failure.seconds if isinstance(one.failure, TimedOut) else 0.0


def _examples(verdict: Verdict) -> Iterator[_Failed]:
    for example in verdict.examples:
        if example.outcome != "passed" and example.failure is not None:
            yield _Failed("example", f"The example of {example.name}", example.failure)


def _checks(verdict: Verdict) -> list[_Failed]:
    failed = [
        _Failed(
            f"check {number}",
            check.title,
            check.failure,
            f"exercises/{verdict.lesson}.md > {check.rule}",
        )
        for number, check in enumerate(verdict.checks, start=1)
        if check.outcome == "failed" and check.failure is not None
    ]
    # What is written but wrong comes before what is not written yet.
    return sorted(failed, key=lambda one: isinstance(one.failure, NotImplementedYet))
