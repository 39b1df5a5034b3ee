"""vLLM's own code on the terminal, as it is read from a release: nothing of it is kept here."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.syntax import Syntax
from rich.text import Text

from grader.report.console import harmless
from manifest.finding import Excerpt
from manifest.symbols import Symbol


def link(symbol: Symbol) -> str:
    """What a lesson's text cites a symbol with."""
    label = symbol.name or symbol.file
    return f"[`{label}`](vllm:{symbol.key})"


def where(file: str, first: int, last: int, file_lines: int) -> str:
    """
    >>> where("vllm/envs.py", 3, 3, 1200), where("vllm/envs.py", 1, 9, 9)
    ('vllm/envs.py, line 3 of 1,200', 'vllm/envs.py, 9 lines')
    """
    if (first, last) == (1, file_lines):
        return f"{file}, {file_lines:,} line{'' if file_lines == 1 else 's'}"
    lines = f"line {first:,}" if first == last else f"lines {first:,}–{last:,}"
    return f"{file}, {lines} of {file_lines:,}"


def source_page(excerpt: Excerpt, context: int = 0, cited_by: tuple[str, ...] = ()) -> Group:
    """The lines of an excerpt, with `context` lines more on both sides, numbered and in colours.

    `cited_by` are the lessons that cite it.
    """
    first = max(1, excerpt.first - context)
    last = min(len(excerpt.lines), excerpt.last + context)
    parts: list[RenderableType] = [_head(excerpt), Text(), _code(excerpt, first, last)]
    if cited_by:
        parts += [Text(), Text(f"Cited by {', '.join(cited_by)}", style="quiet")]
    return Group(*parts)


def widest(excerpt: Excerpt) -> int:
    """Columns that its longest line takes together with the numbers of lines."""
    return max(map(len, excerpt.lines), default=0) + len(str(len(excerpt.lines))) + 4


def _head(excerpt: Excerpt) -> Text:
    place = where(excerpt.file, excerpt.first, excerpt.last, len(excerpt.lines))
    release = f"vLLM {excerpt.version}"
    if not excerpt.name:
        return Text.assemble((place, "head"), (f" · {release}", "quiet"))
    return Text.assemble(
        (excerpt.name, "head"), f" · {excerpt.kind}\n", (place, "name"), (f" · {release}", "quiet")
    )


def _code(excerpt: Excerpt, first: int, last: int) -> Syntax:
    inside = set(range(excerpt.first, excerpt.last + 1))
    around = (first, last) != (excerpt.first, excerpt.last)
    code = "\n".join(harmless(line) for line in excerpt.lines)
    return Syntax(
        code,
        Syntax.guess_lexer(excerpt.file),
        theme="ansi_dark",
        background_color="default",
        line_numbers=True,
        line_range=(first, last),
        highlight_lines=inside if around else set(),
        word_wrap=True,
    )
