"""The glossary: one term, or a list of them."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grader.report.lesson import markdown
from grader.report.lesson_text import show_citations
from manifest import course
from manifest.facts import without_links
from manifest.glossary import Term


def term_page(term: Term) -> RenderableType:
    """A term, its other names, what it means, and where to read about it."""
    head = Text(term.name, style="head")
    if term.also:
        head.append(f"  ({', '.join(term.also)})", style="quiet")
    return Group(head, Padding(_means(term), (0, 0, 0, 2)), Padding(_lesson(term), (0, 0, 0, 2)))


def glossary_page(terms: Iterable[Term]) -> RenderableType:
    """Terms in the order of the alphabet."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="head", max_width=24)
    table.add_column(ratio=1)
    for term in terms:
        table.add_row(term.name, Group(_means(term), Text(term.lesson, style="quiet")))
    return table


def _means(term: Term) -> Markdown:
    return markdown(show_citations(without_links(term.means)))


def _lesson(term: Term) -> Text:
    lesson = course.load().lesson(term.lesson)
    if lesson.written:
        return Text.assemble(f"{lesson.title}: ", (f"vllmlings read {lesson.path}", "command"))
    return Text(f"{lesson.title} ({lesson.path}, still to come)", style="quiet")
