"""A pull request between two releases: which files and which hunks of them, never their lines."""

from __future__ import annotations

import ast
import difflib
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from grader.workloads import read_yaml
from manifest.errors import WrongHash
from manifest.release import Release
from reference.fields import Fields, WorkloadError, got

CONTEXT = 3
KEYS = ("pull_request", "before", "after", "files")
FILE_KEYS = ("path", "before_sha256", "after_sha256", "hunks")
HUNK_KEYS = ("inside", "mentioning")


@dataclass(frozen=True, slots=True)
class Chosen:
    """Hunks of a file: those inside a function, on either side, that mention one of some words.

    `inside` is "" for any place, `mentioning` empty for any words.
    """

    inside: str = ""
    mentioning: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that the pull request changes; without `hunks` its whole difference is the change."""

    path: str
    before_sha256: str
    after_sha256: str
    hunks: tuple[Chosen, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """The pull request's number on GitHub, or None where it is not settled, and its releases."""

    pull_request: int | None
    before: str
    after: str
    files: tuple[ChangedFile, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a hunk, with its number on each side; None where it is not there."""

    before: int | None
    after: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that belong together, and the function that they are in."""

    inside: str
    lines: tuple[Line, ...]


def read_change(path: Path) -> Change:
    """The change in a `diff.yaml`; raises WorkloadError at the first mistake."""
    top = Fields(read_yaml(path), path.name, "", KEYS)
    return Change(
        top.optional_integer("pull_request", minimum=1),
        top.text("before"),
        top.text("after"),
        tuple(_file(data) for data in top.items("files", FILE_KEYS)),
    )


def hunks(file: ChangedFile, before: Release, after: Release) -> tuple[Hunk, ...]:
    """The real lines of the change, read from the two releases.

    Raises:
        WrongHash: a file is not the one that the capstone was made from.
        SourceError: a file cannot be had.
    """
    old = Source(_read(before, file.path, file.before_sha256))
    new = Source(_read(after, file.path, file.after_sha256))
    found = tuple(_hunks(old, new))
    if not file.hunks:
        return found
    cut = (_cut(hunk, each, old, new) for hunk in found for each in file.hunks)
    return tuple(hunk for hunk in cut if hunk is not None)


class Source:
    """A Python file by its lines, and which function each line is in."""

    def __init__(self, content: bytes) -> None:
        self.lines = content.decode("utf-8", "replace").splitlines()
        self._text = content

    def inside(self, number: int) -> str:
        """The innermost function or class around a line, as `Scheduler.schedule`."""
        return max(
            (one for one in self._spans if one[0] <= number <= one[1]),
            default=(0, 0, ""),
        )[2]

    @cached_property
    def _spans(self) -> list[tuple[int, int, str]]:
        try:
            return list(_spans(ast.parse(self._text), ""))
        except SyntaxError:
            return []


def _spans(node: ast.AST, outer: str) -> Iterator[tuple[int, int, str]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = f"{outer}.{child.name}" if outer else child.name
            yield child.lineno, child.end_lineno or child.lineno, name
            yield from _spans(child, name)
        else:
            yield from _spans(child, outer)


def _hunks(old: Source, new: Source) -> Iterator[Hunk]:
    matcher = difflib.SequenceMatcher(None, old.lines, new.lines, autojunk=False)
    for group in matcher.get_grouped_opcodes(CONTEXT):
        lines = tuple(_lines(group, old.lines, new.lines))
        changed = next(one for one in lines if one.before is None or one.after is None)
        where = new.inside(changed.after) if changed.after else old.inside(changed.before or 0)
        yield Hunk(where, lines)


def _lines(group: Any, old: list[str], new: list[str]) -> Iterator[Line]:
    for tag, first_old, last_old, first_new, last_new in group:
        if tag == "equal":
            for offset, text in enumerate(old[first_old:last_old]):
                yield Line(first_old + offset + 1, first_new + offset + 1, text)
            continue
        for number in range(first_old, last_old):
            yield Line(number + 1, None, old[number])
        for number in range(first_new, last_new):
            yield Line(None, number + 1, new[number])


def _cut(hunk: Hunk, chosen: Chosen, old: Source, new: Source) -> Hunk | None:
    """The lines of a hunk that are chosen; None where nothing in them has changed."""
    lines = hunk.lines
    if chosen.inside:
        lines = tuple(one for one in lines if chosen.inside in _around(one, old, new))
    changed = [one.text for one in lines if one.before is None or one.after is None]
    words = chosen.mentioning
    if not changed or (words and not any(word in text for text in changed for word in words)):
        return None
    return Hunk(chosen.inside or hunk.inside, lines)


def _around(line: Line, old: Source, new: Source) -> set[str]:
    """The functions that a line is in, on the sides where it is."""
    numbered = ((old, line.before), (new, line.after))
    return {source.inside(number) for source, number in numbered if number is not None}


def _read(release: Release, path: str, sha256: str) -> bytes:
    content = release.read(path)
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise WrongHash(f"vllm {release.version}: {path}", sha256, found)
    return content


def _file(data: Fields) -> ChangedFile:
    return ChangedFile(
        data.text("path"),
        data.text("before_sha256"),
        data.text("after_sha256"),
        tuple(_chosen(one) for one in data.items("hunks", HUNK_KEYS)),
    )


def _chosen(data: Fields) -> Chosen:
    words = data.sequence("mentioning", ())
    if not all(isinstance(word, str) for word in words):
        raise data.error("mentioning", got(words), "a list of words")
    inside = data.text("inside") if "inside" in data else ""
    return Chosen(inside, tuple(str(word) for word in words))


__all__ = ["Change", "ChangedFile", "Hunk", "Line", "WorkloadError", "hunks", "read_change"]
