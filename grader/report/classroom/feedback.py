"""What a student is told of their lessons, before it becomes HTML or Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rich.console import Console, Group
from rich.theme import Theme

from grader.classroom.standings import Standing
from grader.report.classroom.words import Detail, cause_words, points_words, standing_words
from grader.report.console import STYLES, harmless
from grader.report.failure import tell
from grader.verdict import AnyFailure, CheckResult, ExampleResult, LoadError, Verdict

WIDTH = 88
MARKS = {"passed": "✓", "failed": "✗", "blocked": "–", "error": "!"}


@dataclass(frozen=True)
class Told:
    """One check or example: its mark, its words, and its story if that is told."""

    mark: str
    words: str
    story: str = ""


@dataclass(frozen=True)
class LessonFeedback:
    """A lesson's section."""

    lesson: str
    status: str
    points: str = ""
    cause: str = ""
    source: str = ""
    told: list[Told] = field(default_factory=list)


def feedback(standings: Sequence[Standing], detail: Detail) -> list[LessonFeedback]:
    """What a student is told of each lesson that they handed in."""
    return [_lesson(each, detail) for each in standings if each.state != "not_handed_in"]


def failure_text(failure: AnyFailure) -> str:
    """The story of a failure as plain text."""
    console = Console(theme=Theme(STYLES), width=WIDTH, color_system=None, highlight=False)
    with console.capture() as captured:
        console.print(Group(*tell(failure, WIDTH)))
    lines = (line.rstrip() for line in captured.get().splitlines())
    return "\n".join(lines).strip("\n")


def _lesson(standing: Standing, detail: Detail) -> LessonFeedback:
    words = standing_words(standing)
    if standing.entry is None:
        return LessonFeedback(standing.lesson, words)
    verdict = standing.entry.verdict
    return LessonFeedback(
        standing.lesson,
        words,
        points_words(verdict),
        cause_words(verdict),
        _source(verdict),
        list(_told(verdict, detail)),
    )


def _source(verdict: Verdict) -> str:
    """The line that does not load."""
    error = verdict.error
    if not isinstance(error, LoadError) or not error.source.strip():
        return ""
    return f"{error.line} | {harmless(error.source.rstrip())}"


def _told(verdict: Verdict, detail: Detail) -> Iterator[Told]:
    if detail == "none":
        return
    for example in verdict.examples:
        if example.outcome != "passed":
            yield _example(example, detail)
    for check in verdict.checks:
        yield _check(check, detail)


def _example(example: ExampleResult, detail: Detail) -> Told:
    story = failure_text(example.failure) if example.failure and detail == "stories" else ""
    return Told(MARKS[example.outcome], f"The example of {harmless(example.name)}", story)


def _check(check: CheckResult, detail: Detail) -> Told:
    words = f"{check.title} ({check.earned} of {check.points})"
    if check.outcome == "blocked":
        return Told(MARKS["blocked"], f"{words}: not reached, what it builds on did not pass")
    story = ""
    if check.failure is not None and detail == "stories":
        story = f"{failure_text(check.failure)}\nThe rule: {check.rule}"
    return Told(MARKS[check.outcome], words, story)
