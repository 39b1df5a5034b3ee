"""`vllmlings capstone`: real pull requests to predict. Each part is imported when called."""

from __future__ import annotations

import click

from grader.commands.parts import LazyParts

PARTS = {
    "list": "All of them, and how you did.",
    "show": "The problem, the real diff, the scenarios and the questions.",
    "predict": "A file of predictions to fill in, or question by question.",
    "grade": "Lock your predictions in, then see the truth.",
    "explain": "What happened and why, once you have been graded.",
    "measure": "Run the scenarios on the real code of both releases.",
}


@click.group("capstone", cls=LazyParts, parts=PARTS, prefix="capstone_")
def command() -> None:
    """Read a real pull request of vLLM, and predict in numbers what it does."""
