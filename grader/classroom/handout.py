"""A lesson as it goes out to students: its text and its stub, and nothing else of it."""

from __future__ import annotations

import re

from grader.lessons import Lesson
from grader.stub import stub_of
from manifest.facts import without_links
from manifest.pins import load as load_pins
from manifest.symbols import CITATION, key_of
from manifest.symbols import load as load_symbols

_COMMENT = re.compile(r"^[ \t]*<!--.*?-->[ \t]*\n|<!--.*?-->", re.DOTALL | re.MULTILINE)
_SOURCE = "https://github.com/vllm-project/vllm/blob/v"


def handout_text(lesson: Lesson) -> str:
    """The lesson's text as Markdown for any reader: links lead to vLLM's source at the release."""
    text = lesson.text.read_text(encoding="utf-8")
    return with_links(_COMMENT.sub("", without_links(text)))


def handout_stub(lesson: Lesson) -> str:
    """What the student starts from, cut anew from the solution."""
    return stub_of(lesson)


def with_links(text: str) -> str:
    """The text with its links into vLLM's source made into addresses, with the lines.

    >>> with_links("[a file](vllm:vllm/v1/core/block_pool.py)")[-35:]
    'v0.30.0/vllm/v1/core/block_pool.py)'
    """
    return CITATION.sub(lambda match: f"[{match['label']}]({_address(match)})", text)


def _address(match: re.Match[str]) -> str:
    path, name = match["path"], match["symbol"] or ""
    symbol = load_symbols().get(key_of(path, name))
    lines = f"#L{symbol.first}-L{symbol.last}" if symbol and name else ""
    return f"{_SOURCE}{load_pins().version}/{path}{lines}"
