"""Hints as they are shown: the newest one, or all so far."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from grader.report.lesson import markdown
from grader.report.words import commands
from manifest.course import Lesson


def hint_page(
    lesson: Lesson, hints: list[str], shown: int, key: str | None = None
) -> RenderableType:
    """The hint numbered `shown` (from 1) of a lesson's hints, and how to get others.

    `key` is what to press for the next one, where there are keys.
    """
    parts = [_hint(lesson, hints, shown), Text()]
    lines = []
    if shown < len(hints):
        lines.append((key or f"vllmlings hint {lesson.name}", "one step further"))
    else:
        parts.append(Text("That was the last hint.", style="quiet"))
        lines.append((f"vllmlings solution {lesson.name} --reveal", "the solution"))
    if shown > 1:
        lines.append((f"vllmlings hint {lesson.name} --all", "those shown so far"))
    return Group(*parts, commands(*lines))


def hints_so_far(lesson: Lesson, hints: list[str], shown: int) -> RenderableType:
    """The hints up to the one numbered `shown`, none of them new."""
    command = f"vllmlings hint {lesson.name}"
    if not shown:
        return Group(Text("No hint was shown yet."), commands((command, "the first one")))
    parts: list[RenderableType] = []
    for number in range(1, shown + 1):
        parts += [_hint(lesson, hints, number), Text()]
    if shown < len(hints):
        return Group(*parts, commands((command, "one step further")))
    return Group(*parts, Text("These are all hints.", style="quiet"))


def _hint(lesson: Lesson, hints: list[str], number: int) -> RenderableType:
    heading, _, body = hints[number - 1].partition("\n")
    title = heading.removeprefix("## ")
    head = Text.assemble(
        (f"Hint {number} of {len(hints)}", "head"), f"  {title}  ", (lesson.path, "name")
    )
    return Group(head, Text(), markdown(body.strip()))
