"""A hint as it is shown: the newest step, and what the earlier ones were called."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from grader.report.lesson import markdown
from grader.report.words import commands
from manifest.course import Lesson


def hint_page(lesson: Lesson, hints: list[str], shown: int) -> RenderableType:
    """The hint numbered `shown` (from 1) of a lesson's hints."""
    heading, _, body = hints[shown - 1].partition("\n")
    title = heading.removeprefix("## ")
    parts: list[RenderableType] = [
        Text.assemble(
            (f"Hint {shown} of {len(hints)}", "head"), f"  {title}  ", (lesson.path, "name")
        ),
        Text(),
        markdown(body.strip()),
        Text(),
    ]
    if shown < len(hints):
        parts.append(commands((f"vllmlings hint {lesson.name}", "one step further")))
    else:
        parts += [
            Text("That was the last hint.", style="quiet"),
            commands(
                (f"vllmlings solution {lesson.name} --reveal", "the solution"),
                (f"vllmlings hint {lesson.name} --reset", "the first hint again"),
            ),
        ]
    return Group(*parts)
