"""The one console: 80 columns and plain where no terminal says otherwise."""

from __future__ import annotations

import io
import re
import sys

from rich.console import Console, RenderableType
from rich.theme import Theme

WIDEST = 100
STYLES = {
    "good": "green",
    "bad": "red",
    "wait": "yellow",
    "name": "cyan",
    "quiet": "bright_black",
    "head": "bold",
    "command": "bold cyan",
}
_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def make_console(stderr: bool = False) -> Console:
    """A console on the current stdout (or stderr), at most 100 columns wide.

    Colour follows the terminal and `NO_COLOR`. An output that cannot encode a symbol shows
    `?` in its place and does not fail.
    """
    stream = sys.stderr if stderr else sys.stdout
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")
    console = Console(theme=Theme(STYLES), highlight=False, stderr=stderr, soft_wrap=False)
    console.width = min(console.width, WIDEST)
    return console


def show(renderable: RenderableType, width: int | None = None, whole_lines: bool = False) -> None:
    """Print to stdout; without colour, no line ends in blanks.

    An output that is no terminal is as wide as the page would like, if that is given. With
    `whole_lines`, a line that may not be wrapped is wider than the terminal if it must.
    """
    console = make_console()
    if width is not None and not console.is_terminal:
        console.width = max(console.width, width)
    if console.color_system is not None and not console.no_color:
        console.print(renderable, crop=not whole_lines)
        return
    with console.capture() as captured:
        console.print(renderable, crop=not whole_lines)
    sys.stdout.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def harmless(text: str) -> str:
    """Text from a submission without anything that could move the cursor or change colours.

    >>> harmless("a\\x1b[31mb\\rc\\td")
    'ab·c\\td'
    """
    return _CONTROL.sub(lambda match: "" if match[0].startswith("\x1b[") else "·", text)
