"""`vllmlings manifest`: what the course holds about vLLM. Each part is imported when called."""

from __future__ import annotations

import importlib

import click

PARTS = {
    "check": "Do the citations and facts hold at the pinned release?",
    "drift": "What has another release changed in what the course teaches?",
    "add": "Note a symbol of the pinned release, so that a text can cite it.",
    "repin": "Read the course from another release from now on.",
}


class LazyParts(click.Group):
    """Knows its parts by name; `manifest NAME` is `command` in `manifest_NAME.py`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        return list(PARTS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in PARTS:
            return None
        command = importlib.import_module(f"grader.commands.manifest_{cmd_name}").command
        if not isinstance(command, click.Command):
            raise TypeError(f"grader/commands/manifest_{cmd_name}.py: `command` is no command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(PARTS.items()))


@click.group("manifest", cls=LazyParts)
def command() -> None:
    """The symbols and facts of vLLM that the course cites, and whether they still hold."""
