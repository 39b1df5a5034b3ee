"""What grades, as files: a copy of this course for a machine that only a teacher can look into.

It has suites and solutions. Left out is what judges the suites themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from grader.lessons import ROOT

_FOLDERS = ("exercises", "solutions", "reference", "grader", "manifest")
_FILES = ("pyproject.toml", "constraints.txt", "README.md", "LICENSE", "NOTICE")
_LEFT_OUT = ("grader/mutants", "grader/alternatives", "grader/adapters")


def private_copy(root: Path = ROOT) -> dict[str, bytes]:
    """The files that `pip install -e` and grading need, by their path in the course."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in _paths(root)}


def _paths(root: Path) -> Iterator[Path]:
    yield from (root / name for name in _FILES)
    left_out = [root / folder for folder in _LEFT_OUT]
    for folder in _FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            inside = path.relative_to(root).parts
            is_made = any(part.startswith(".") or part == "__pycache__" for part in inside)
            if path.is_file() and not is_made and not any(one in path.parents for one in left_out):
                yield path
