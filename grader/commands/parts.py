"""A command that consists of parts, each imported only when it is called."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click


class LazyParts(click.Group):
    """Knows its parts by name and in words.

    A part is `command` in the module of `grader.commands` that has its name behind `prefix`.
    """

    def __init__(
        self, *arguments: Any, parts: Mapping[str, str], prefix: str = "", **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self._parts = parts
        self._prefix = prefix

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        return list(self._parts)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self._parts:
            return None
        module = f"{self._prefix}{cmd_name}"
        command = importlib.import_module(f"grader.commands.{module}").command
        if not isinstance(command, click.Command):
            raise TypeError(f"grader/commands/{module}.py: `command` is no command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(self._parts.items()))
