"""Below a lesson's text: a key shows the code of what the text cites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from grader.number_keys import LEAVE, NumberKeys
from grader.terminal import read_keys, single_keys
from manifest.symbols import Symbol

if TYPE_CHECKING:
    from manifest.finding import Finder


def offer_code(keys: Sequence[str], symbols: Mapping[str, Symbol], version: str) -> None:
    """Show the list of what is cited and, for each number that is pressed, its code.

    Returns when the reader leaves, or where there is no terminal to press keys on.
    """
    from grader.commands.releases import listener
    from grader.report.citations import cited_list
    from grader.report.console import show
    from manifest.finding import Finder
    from manifest.published import published

    show(cited_list(keys, symbols, version))
    with listener() as hears, published(version, hears) as release:
        finder = Finder(release, symbols, version)
        while number := _pressed(len(keys)):
            _show(finder, keys[number - 1])


def _pressed(highest: int) -> int:
    """The number that the reader presses, or `LEAVE`."""
    numbers = "1" if highest == 1 else f"1–{highest}"
    prompt = f"  {numbers}: its code · Enter: done "
    keys = NumberKeys(highest)
    with single_keys() as descriptor:
        if descriptor is None:
            return LEAVE
        while True:
            click.echo(f"\r\x1b[K{prompt}{keys.typed}", nl=False)
            pressed = read_keys(descriptor)
            # A lone key at a time; the keys of an arrow are none of ours.
            found = LEAVE if not pressed else keys.press(pressed) if len(pressed) == 1 else None
            if found is not None:
                click.echo("\r\x1b[K", nl=False)
                return found


def _show(finder: Finder, key: str) -> None:
    """The code, or the one line that says why not."""
    from grader.report.pager import show_or_page
    from grader.report.source import source_page
    from manifest.errors import SourceError
    from manifest.finding import NotFound

    try:
        excerpt = finder.find(key)
    except (SourceError, NotFound) as error:
        click.echo(str(error), err=True)
        return
    show_or_page(source_page(excerpt), always=True)
