"""Where the lessons speak of vLLM: each sentence with a link to a symbol or a fact."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from manifest import facts
from manifest.cited import ROOT
from manifest.course import Course
from manifest.symbols import CITATION, key_of

_END = re.compile(r"(?<=[.!?])[)*_\"]*\s+(?=[A-Z`*\[\"])")
_LINK = re.compile(r"\[(?P<label>`[^`]+`|[^\[\]]+)\]\((?:vllm|fact|https?):[^)\s]+\)")


@dataclass(frozen=True, slots=True)
class Mention:
    """A sentence of a text, and the key of what it cites: `path#Name`, or `fact:name`."""

    key: str
    lesson: str
    file: str
    line: int
    sentence: str


def fact_key(name: str) -> str:
    return f"fact:{name}"


def text_files(course: Course, root: Path = ROOT) -> dict[str, Path]:
    """The texts of the written lessons, by lesson."""
    files = {one.path: root / "exercises" / f"{one.path}.md" for one in course.written}
    return {lesson: file for lesson, file in files.items() if file.is_file()}


def mentions(course: Course, root: Path = ROOT) -> list[Mention]:
    """All of them, in the order of the course. A sentence that cites twice is there twice."""
    return [
        Mention(key, lesson, file.relative_to(root).as_posix(), line, sentence)
        for lesson, file in text_files(course, root).items()
        for key, line, sentence in sentences(file.read_text(encoding="utf-8"))
    ]


def sentences(text: str) -> Iterator[tuple[str, int, str]]:
    """Key, line and sentence of each link; the sentence is as it is read, without links.

    >>> list(sentences("One. A block is [16](fact:size) tokens. Two."))
    [('fact:size', 1, 'A block is 16 tokens.')]
    """
    for number, line in enumerate(text.splitlines(), start=1):
        for first, last, key in _links(line):
            yield key, number, _readable(line[_begin(line, first) : _finish(line, last)])


def _links(line: str) -> Iterator[tuple[int, int, str]]:
    found = [
        (match.start(), match.end(), key_of(match["path"], match["symbol"] or ""))
        for match in CITATION.finditer(line)
    ]
    found += [
        (match.start(), match.end(), fact_key(match["name"])) for match in facts.LINK.finditer(line)
    ]
    yield from sorted(found)


def _begin(line: str, place: int) -> int:
    return max((end.end() for end in _END.finditer(line, 0, place + 1)), default=0)


def _finish(line: str, place: int) -> int:
    end = _END.search(line, max(place - 1, 0))
    return end.start() if end else len(line)


def _readable(text: str) -> str:
    return _LINK.sub(lambda match: match["label"], text).strip(" -|*").strip()
