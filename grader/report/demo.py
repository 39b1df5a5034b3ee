"""The words between the three parts of the demo."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.text import Text

from grader.report.words import commands
from manifest.course import Lesson


def first_step() -> RenderableType:
    """Before the half-right exercise is graded."""
    return _step(
        1,
        "An exercise that is half right",
        "Somebody has filled in the block pool, the part of vLLM that hands out the blocks of "
        "the KV cache. The examples in its docstrings pass. The hidden suite draws cases, runs "
        "each on the submission and on a model of vLLM's engine, and tells the smallest one in "
        "which they differ.",
    )


def second_step() -> RenderableType:
    """Before the right one is graded. How it was put right is not told: it is an exercise."""
    return _step(
        2,
        "The same exercise, put right",
        "The story names the call that went wrong and the place in the text where its rule "
        "stands. With the rule read and one line changed, the same suite says:",
    )


def third_step(workload: str) -> RenderableType:
    """Before the engine runs."""
    return _step(
        3,
        "The engine at work",
        f"The same model of the engine, on exercises/workloads/{workload}.yaml: prompts are cut "
        "into chunks, b finds the first 8 tokens of a's prompt in the prefix cache, and c is "
        "preempted when the blocks run out and comes back later.",
    )


def closing(seen: Lesson, following: Lesson | None) -> RenderableType:
    """What to type now; `following` is the lesson that bare `vllmlings` names, if one is left."""
    lines = [
        ("vllmlings", "where you are and what is next"),
        ("vllmlings list", "the whole course"),
    ]
    words = "Every lesson that is written so far has passed."
    if following is not None:
        lines += [
            (f"vllmlings read {following.name}", "the text of the lesson that is next"),
            (f"vllmlings watch {following.name}", "checks your exercise each time you save it"),
        ]
        words = f"Your next lesson is {following.path}."
        if following.path != seen.path:
            words += f" {seen.path}, just seen, has its own place in the course's order."
    return Group(
        Text(),
        Rule(Text("Your turn", style="head"), align="left", style="quiet"),
        Text(words),
        Text(),
        commands(*lines),
    )


def _step(number: int, title: str, words: str) -> RenderableType:
    head = Text.assemble((f"{number} of 3  ", "quiet"), (title, "head"))
    before = [Text()] if number > 1 else []
    return Group(*before, Rule(head, align="left", style="quiet"), Text(words), Text())
