"""One student's feedback as Markdown and as one HTML page that needs nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from grader.classroom.standings import Standing
from grader.report.classroom.feedback import LessonFeedback, Told, feedback
from grader.report.classroom.words import UNSEALED, Detail

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem;
  color-scheme: light dark; }
h2 { margin: 2rem 0 0; } .status { margin: 0; opacity: .75; }
ul { list-style: none; padding: 0; } li { margin: .25rem 0; }
li.failed > .mark, .bad { color: #c0392b; } li.passed > .mark { color: #1e8449; }
pre { overflow-x: auto; padding: .75rem; border-left: 3px solid #8888; background: #8881;
  font-size: .85rem; }
"""
_CLASSES = {"✓": "passed", "✗": "failed"}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>()#+\-.!|~&])")


def student_markdown(student: str, standings: Sequence[Standing], detail: Detail) -> str:
    """The feedback as Markdown."""
    lines = [f"# {_plain(student)}", ""]
    if _unsealed(standings):
        lines += [f"**{UNSEALED}**", ""]
    for lesson in feedback(standings, detail):
        lines += _markdown(lesson)
    return "\n".join(lines)


def student_html(student: str, standings: Sequence[Standing], detail: Detail) -> str:
    """The feedback as a page of HTML."""
    body = [f"<h1>{escape(student)}</h1>"]
    if _unsealed(standings):
        body.append(f'<p class="bad">{escape(UNSEALED)}</p>')
    for lesson in feedback(standings, detail):
        body += _html(lesson)
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width">',
            f"<title>{escape(student)}</title><style>{_STYLE}</style></head><body>",
            *body,
            "</body></html>\n",
        ]
    )


def _unsealed(standings: Sequence[Standing]) -> bool:
    return any(standing.entry and standing.entry.sandbox == "none" for standing in standings)


def _markdown(lesson: LessonFeedback) -> Iterator[str]:
    yield f"## {_plain(lesson.lesson)}"
    yield ""
    yield " · ".join(part for part in (lesson.status, lesson.points) if part)
    yield ""
    if lesson.cause:
        yield _plain(lesson.cause)
        yield ""
    if lesson.source:
        yield from _fenced(lesson.source, "")
    for told in lesson.told:
        yield f"- {told.mark} {_plain(told.words)}"
        if told.story:
            yield ""
            yield from _fenced(told.story, "  ")
    yield ""


def _fenced(text: str, margin: str) -> Iterator[str]:
    """A block of code with a fence longer than any in the text."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{margin}{fence}text"
    yield from (f"{margin}{line}" for line in text.splitlines())
    yield f"{margin}{fence}"
    yield ""


def _plain(text: str) -> str:
    r"""
    >>> _plain("<b> [x](y)\n# z")
    '\\<b\\> \\[x\\]\\(y\\) \\# z'
    """
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def _html(lesson: LessonFeedback) -> Iterator[str]:
    status = " · ".join(part for part in (lesson.status, lesson.points) if part)
    yield f"<h2>{escape(lesson.lesson)}</h2>"
    yield f'<p class="status">{escape(status)}</p>'
    if lesson.cause:
        yield f'<p class="bad">{escape(lesson.cause)}</p>'
    if lesson.source:
        yield f"<pre>{escape(lesson.source)}</pre>"
    if lesson.told:
        yield "<ul>"
        yield from (_item(told) for told in lesson.told)
        yield "</ul>"


def _item(told: Told) -> str:
    kind = _CLASSES.get(told.mark, "other")
    story = f"<pre>{escape(told.story)}</pre>" if told.story else ""
    mark = f'<span class="mark">{told.mark}</span>'
    return f'<li class="{kind}">{mark} {escape(told.words)}{story}</li>'
