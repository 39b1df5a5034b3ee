"""A lesson's text in the terminal."""

from __future__ import annotations

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown
from rich.padding import Padding
from rich.syntax import Syntax
from rich.text import Text

from grader.report.citations import cited_list, number_citations
from grader.report.lesson_text import Picture, Question, pieces
from grader.report.mermaid import draw
from manifest import pins, symbols
from manifest.facts import without_links

WIDTH = 80


class LeftHeading(Heading):
    """A heading at the left edge; rich centres them."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        style = "bold cyan" if self.tag == "h1" else "bold"
        self.text.justify = "left"
        self.text.stylize(style)
        yield self.text
        if self.tag in ("h1", "h2"):
            yield Text(("═" if self.tag == "h1" else "─") * self.text.cell_len, style="quiet")


class PlainCodeBlock(CodeBlock):
    """Code indented by two, in the terminal's own colours and on its own background."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = Syntax(
            str(self.text).rstrip(),
            self.lexer_name,
            theme="ansi_dark",
            background_color="default",
            word_wrap=True,
        )
        yield Padding(code, (0, 0, 0, 2))


class LessonMarkdown(Markdown):
    elements = Markdown.elements | {
        "heading_open": LeftHeading,
        "fence": PlainCodeBlock,
        "code_block": PlainCodeBlock,
    }


def markdown(text: str) -> Markdown:
    """Markdown in the manner of the lessons."""
    return LessonMarkdown(text, hyperlinks=False, inline_code_theme="ansi_dark")


def lesson_page(text: str, answers: bool) -> RenderableType:
    """The whole text; answers to its questions are folded unless asked for."""
    parts: list[RenderableType] = []
    folded = False
    numbered, keys = number_citations(without_links(text))
    for piece in pieces(numbered):
        if isinstance(piece, Picture):
            parts.append(_picture(piece))
        elif isinstance(piece, Question):
            parts.append(_question(piece, answers))
            folded = folded or not answers
        else:
            parts.append(markdown(piece.text))
        parts.append(Text())
    if folded:
        parts.append(Text("The answers are folded; --answers shows them.", style="quiet"))
    if keys:
        parts += [Text(), cited_list(keys, symbols.load(), pins.load().version)]
        parts.append(Text("vllmlings source NAME shows the code.", style="quiet"))
    return Group(*parts)


def _question(piece: Question, answers: bool) -> RenderableType:
    mark = Text("▾ " if answers else "▸ ", style="head")
    question = _beside(mark, markdown(piece.question))
    if not answers:
        return question
    return Group(question, Text(), Padding(markdown(piece.answer), (0, 0, 0, 2)))


def _beside(mark: Text, body: RenderableType) -> RenderableType:
    from rich.table import Table

    grid = Table.grid()
    grid.add_row(mark, body)
    return grid


def _picture(piece: Picture) -> RenderableType:
    drawing = draw(piece.source, WIDTH - 2)
    if drawing is not None:
        return Padding(Text(drawing, no_wrap=True), (0, 0, 0, 2))
    return Group(
        Padding(Text(piece.source, style="quiet"), (0, 0, 0, 2)),
        Text("  (a Mermaid picture: GitHub and VS Code draw it)", style="quiet"),
    )
