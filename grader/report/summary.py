"""Many verdicts in short: a line for each, and their sum."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from grader.report.words import commands, counted
from grader.verdict import LoadError, Verdict

WORDS = {
    "passed": ("✓", "passed", "good"),
    "failed": ("✗", "not passed", "bad"),
    "not_started": ("○", "not started", "default"),
    "cannot_load": ("✗", "cannot be loaded", "bad"),
    "grader_error": ("!", "the grader failed", "bad"),
}


def summary_line(verdict: Verdict, width: int) -> Text:
    """`✓ kv_cache/block_pool  20/20  passed  0.8 s`, names filled up to `width`."""
    symbol, words, style = WORDS[verdict.status]
    points = f"{verdict.points}/{verdict.max_points}" if verdict.max_points else ""
    text = Text.assemble(
        (f"{symbol} ", style),
        (verdict.lesson.ljust(width), "name"),
        f"  {points:>6}  ",
        (words.ljust(16), style),
        (f"  {verdict.seconds:.1f} s", "quiet"),
    )
    if isinstance(verdict.error, LoadError) and verdict.error.line is not None:
        text.append(f"  line {verdict.error.line}")
    return text


def summary_sum(verdicts: list[Verdict]) -> RenderableType:
    """How many passed, and how to see why the first one did not."""
    passed = sum(verdict.status == "passed" for verdict in verdicts)
    points = sum(verdict.points for verdict in verdicts)
    whole = sum(verdict.max_points for verdict in verdicts)
    text = Text(f"{passed} of {counted(len(verdicts), 'lesson')} passed", style="head")
    if whole:
        text.append(f" · {points} of {counted(whole, 'point')}", style="default")
    failed = next((v for v in verdicts if v.status not in ("passed", "not_started")), None)
    parts: list[RenderableType] = [Text(), text]
    if failed is not None:
        parts += [Text(), commands((f"vllmlings grade {failed.lesson}", "why"))]
    return Group(*parts)
