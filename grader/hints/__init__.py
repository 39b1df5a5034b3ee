"""Hints: one Markdown file a lesson, its steps under `## ` headings."""

from __future__ import annotations

from pathlib import Path


def read_hints(file: Path) -> list[str]:
    """The steps of a hints file, the gentlest first; none if there is no such file."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    return split_hints(text)


def split_hints(text: str) -> list[str]:
    """The steps, each with its heading; what stands before the first heading is no step.

    >>> split_hints("# Hints\\n\\n## A nudge\\nLook left.\\n\\n## The approach\\nGo left.\\n")
    ['## A nudge\\nLook left.', '## The approach\\nGo left.']
    """
    steps: list[list[str]] = []
    in_code = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            in_code = not in_code
        if line.startswith("## ") and not in_code:
            steps.append([])
        if steps:
            steps[-1].append(line)
    return ["\n".join(step).strip() for step in steps]
