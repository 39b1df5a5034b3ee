"""What a learner may do next, once a verdict is there."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from grader.report.words import commands
from grader.verdict import Verdict
from manifest.course import Lesson

READ = "the lesson's text"
DIFF = "your work beside the solution"
MINE = "the engine, running on your part"


def after_grading(
    verdict: Verdict, lesson: Lesson, following: Lesson | None, workload: str | None
) -> RenderableType | None:
    """Commands to type after `grade`; `following` is the lesson to go on with after a pass.

    `workload` is one on which the engine can run the learner's part.
    """
    name = lesson.name
    watch = (f"vllmlings watch {name}", "checks the exercise each time you save it")
    match verdict.status:
        case "passed":
            lines = _after_a_pass(lesson, workload)
            if following is not None:
                lines.insert(0, (f"vllmlings read {following.name}", "the next lesson"))
            return commands(*lines)
        case "not_started":
            return commands((f"vllmlings read {name}", READ), watch)
        case "failed" | "cannot_load":
            return commands((f"vllmlings hint {name}", "a hint, one step further each time"), watch)
    return None


def after_a_save(
    verdict: Verdict, lesson: Lesson, following: Lesson | None, workload: str | None
) -> RenderableType | None:
    """The same for somebody who watches and has keys to press."""
    match verdict.status:
        case "passed":
            lines = _after_a_pass(lesson, workload)
            if following is not None:
                lines.insert(0, ("n", f"the next lesson, {following.path}"))
            return commands(*lines)
        case "not_started":
            return Group(
                Text("Write in that file and save it: each save is checked here."),
                commands((f"vllmlings read {lesson.name}", READ)),
            )
    return None


def _after_a_pass(lesson: Lesson, workload: str | None) -> list[tuple[str, str]]:
    lines = [(f"vllmlings diff {lesson.name}", DIFF)]
    if workload is not None:
        lines.append((f"vllmlings engine {workload} --mine", MINE))
    return lines
