"""Lines that no student may see before they have found them: of suites, solutions and the model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from grader.lessons import ROOT

_SECRET = ("solutions", "reference", "grader/suites", "grader/mutants", "grader/alternatives")
_PUBLIC = ("exercises",)
_SHORTEST = 16


@cache
def secret_lines() -> frozenset[str]:
    """The lines that tell something: all that no stub and no text has, too."""
    return frozenset(_lines(_SECRET)) - frozenset(_lines(_PUBLIC))


def leaked(text: str) -> list[str]:
    """The lines of a text that are secret."""
    return sorted(secret_lines() & {*_telling(text.splitlines())})


def _lines(folders: Iterable[str]) -> Iterator[str]:
    for folder in folders:
        for path in Path(ROOT, folder).rglob("*"):
            if path.suffix in (".py", ".yaml", ".md"):
                yield from _telling(path.read_text(encoding="utf-8").splitlines())


def _telling(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        # A list's or a comment's mark is not always shown.
        words = line.strip().lstrip("-*#> ")
        if len(words) >= _SHORTEST and not words.startswith(("import ", "from ")):
            yield words
