"""`vllmlings manifest`: what the course holds about vLLM. Each part is imported when called."""

from __future__ import annotations

import click

from grader.commands.parts import LazyParts

PARTS = {
    "check": "Do the citations and facts hold at the pinned release?",
    "drift": "What has another release changed in what the course teaches?",
    "add": "Note a symbol of the pinned release, so that a text can cite it.",
    "repin": "Read the course from another release from now on.",
}


@click.group("manifest", cls=LazyParts, parts=PARTS, prefix="manifest_")
def command() -> None:
    """The symbols and facts of vLLM that the course cites, and whether they still hold."""
