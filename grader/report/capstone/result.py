"""An exam after it was taken: the prediction beside the truth, and where the two sides part."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from grader.capstone.attempts import Attempt
from grader.capstone.draw import Exam
from grader.capstone.expression import Answer
from grader.capstone.grade import Result
from grader.capstone.marking import Mark
from grader.capstone.outcome import Both, Outcome
from grader.capstone.scenario import Scenario
from grader.report.steps import legend, step_panels
from grader.report.words import commands

STEPS = 40


def result_page(result: Result, attempts: list[Attempt], width: int) -> RenderableType:
    """The marks, the points, and the step tables of what was answered wrongly."""
    number = result.exam.capstone.number
    student = f" --student {result.exam.student}" if result.exam.student else ""
    wrong = {mark.question.scenario for mark in result.marks if not mark.is_right}
    parts: list[RenderableType] = [_marks(result), Text(), _points(result, attempts)]
    for name, scenario in result.exam.scenarios.items():
        if name in wrong:
            parts += [Text(), *_parted(scenario, result.exam.outcomes[name], width)]
    explain = (f"vllmlings capstone explain {number}{student}", "what happened, step by step")
    return Group(*parts, Text(), commands(explain))


def explain_page(exam: Exam, width: int) -> RenderableType:
    """What happened and why, and every scenario's steps on both sides."""
    parts: list[RenderableType] = [Markdown(exam.capstone.after)]
    for name, scenario in exam.scenarios.items():
        parts += [Text(), *_parted(scenario, exam.outcomes[name], width)]
    return Group(*parts)


def answer_text(answer: Answer) -> str:
    """
    >>> answer_text(["b", "a"]), answer_text(None), answer_text(Fraction(13, 2))
    ('b a', 'never', '6.5')
    """
    if answer is None:
        return "never"
    if isinstance(answer, list):
        return " ".join(map(str, answer)) or "none"
    return f"{float(answer):g}" if isinstance(answer, Fraction) else str(answer)


def _marks(result: Result) -> Table:
    table = Table(box=None, padding=(0, 1), pad_edge=False, header_style="head")
    for head in ("", "question", "your answer", "the truth", "points"):
        table.add_column(head, justify="right" if head == "points" else "left", overflow="fold")
    for mark in result.marks:
        symbol, style = _symbol(mark)
        table.add_row(
            Text(symbol, style=style),
            mark.question.id,
            Text(answer_text(mark.answer) if mark.answered else "—", style=style),
            answer_text(mark.truth),
            f"{mark.earned:g}/{mark.question.points}",
        )
    return table


def _symbol(mark: Mark) -> tuple[str, str]:
    if mark.is_right:
        return "✓", "good"
    return ("◐", "wait") if mark.earned else ("✗", "bad")


def _points(result: Result, attempts: list[Attempt]) -> Text:
    text = Text.assemble((f"{result.points:g} of {result.max_points} points", "head"))
    first = attempts[0]
    if len(attempts) > 1 and first.points is not None:
        text.append(
            f"\nYour first attempt, before the truth was shown, had {first.points:g}: "
            "that is the one that counts.",
            style="quiet",
        )
    return text


def _parted(scenario: Scenario, both: Both, width: int) -> Iterator[RenderableType]:
    yield Text.assemble((scenario.name, "name"), f"  {scenario.title}")
    if not both.differ:
        yield Text("Nothing at all differs between the two sides.", style="quiet")
        yield from _steps("before and after", both.after, width)
        return
    if both.after.trace is not None:
        yield legend(width)
    yield from _steps("before", both.before, width)
    yield from _steps("after", both.after, width)


def _steps(side: str, outcome: Outcome, width: int) -> Iterator[RenderableType]:
    yield Text(side, style="head")
    if outcome.workload is None or outcome.trace is None:
        yield Text("\n".join(outcome.lines))
        return
    yield from step_panels(outcome.workload, outcome.trace, width, STEPS)
