"""What a lesson cites of vLLM: numbers in its text, and a list of them with file and lines."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from manifest.symbols import CITATION, Symbol, key_of


def number_citations(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with a number behind the label of each link into vLLM's source, and the keys that
    the numbers stand for, from 1.

    >>> number_citations("See [`touch`](vllm:vllm/v1/core/block_pool.py#BlockPool.touch).")
    ('See `touch` \\\\[1].', ('vllm/v1/core/block_pool.py#BlockPool.touch',))
    """
    numbers: dict[str, int] = {}

    def shown(match: re.Match[str]) -> str:
        key = key_of(match["path"], match["symbol"] or "")
        number = numbers.setdefault(key, len(numbers) + 1)
        return f"{match['label']} \\[{number}]"

    return CITATION.sub(shown, text), tuple(numbers)


def cited_list(keys: Sequence[str], symbols: Mapping[str, Symbol], version: str) -> RenderableType:
    """The numbers of a text, by file: `[1] BlockPool.touch  lines 749–764`."""
    files: dict[str, list[tuple[int, str]]] = {}
    for number, key in enumerate(keys, start=1):
        file, _, name = key.partition("#")
        files.setdefault(file, []).append((number, name))
    parts: list[RenderableType] = [Text(f"Cited from vLLM {version}", style="head")]
    for file, cited in files.items():
        known = next((s for key, s in symbols.items() if s.file == file), None)
        size = f", {known.file_lines:,} lines" if known else ""
        parts.append(Text.assemble((file, "name"), (size, "quiet")))
        parts.append(_entries(file, cited, symbols))
    return Group(*parts)


def _entries(file: str, cited: list[tuple[int, str]], symbols: Mapping[str, Symbol]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(justify="right", min_width=6)
    grid.add_column(overflow="fold")
    grid.add_column(style="quiet", no_wrap=True)
    for number, name in cited:
        symbol = symbols.get(key_of(file, name))
        lines = f"lines {symbol.first:,}–{symbol.last:,}" if symbol and name else ""
        if symbol and symbol.first == symbol.last:
            lines = f"line {symbol.first:,}"
        grid.add_row(Text(f"[{number}]"), Text(name or "the whole file"), lines)
    return grid
