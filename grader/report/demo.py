"""The words between the three parts of the demo."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.text import Text

from grader.report.words import commands


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


def second_step(right: str, wrong: str) -> RenderableType:
    """Before the right one is graded."""
    return Group(
        _step(
            2,
            "The same exercise, put right",
            "The story's last line leads to touch(): a block that a second request starts to "
            "use must get a second user, even though it was in use already.",
        ),
        Text(f"-{wrong.rstrip()}", style="bad"),
        Text(f"+{right.rstrip()}", style="good"),
        Text(),
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


def closing() -> RenderableType:
    """What to type now."""
    return Group(
        Text(),
        Rule(Text("Your turn", style="head"), align="left", style="quiet"),
        commands(
            ("vllmlings", "where you are and what is next"),
            ("vllmlings list", "the whole course"),
            ("vllmlings read block_pool", "the lesson that you have just seen graded"),
            ("vllmlings watch block_pool", "checks your exercise each time you save it"),
        ),
    )


def _step(number: int, title: str, words: str) -> RenderableType:
    head = Text.assemble((f"{number} of 3  ", "quiet"), (title, "head"))
    before = [Text()] if number > 1 else []
    return Group(*before, Rule(head, align="left", style="quiet"), Text(words), Text())
