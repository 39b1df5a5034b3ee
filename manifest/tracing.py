"""Where a definition has gone in another release: by its path and name, else by its shape."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from manifest.errors import NoSuchFile
from manifest.release import Release
from manifest.shapes import Shape, same_kind, shape_of
from manifest.symbols import key_of
from manifest.syntax import Module, Unreadable, first_line, last_line

MOST_FILES = 24
"""So many files of a release are looked through, at most, for one that has left its own."""
_SAME_LAST_NAME = 0.5
_OTHER_NAME = 0.7


class Tree:
    """One release's modules, each read and parsed at most once."""

    def __init__(self, release: Release) -> None:
        self.release = release
        self._modules: dict[str, Module | None] = {}
        self._shapes: dict[tuple[str, str], Shape] = {}

    def module(self, path: str) -> Module | None:
        """None where the release has no such file, or none that can be parsed."""
        if path not in self._modules:
            try:
                self._modules[path] = Module.of(self.release.read(path))
            except (NoSuchFile, Unreadable):
                self._modules[path] = None
        return self._modules[path]

    def shape(self, path: str, name: str) -> Shape | None:
        """The shape of all definitions of that name in the file."""
        module = self.module(path)
        if module is None or name not in module.definitions:
            return None
        if (path, name) not in self._shapes:
            self._shapes[path, name] = shape_of(module.definitions[name])
        return self._shapes[path, name]

    def place(self, path: str, name: str) -> Place | None:
        module = self.module(path)
        node = module.main(name) if module else None
        return Place(path, name, first_line(node), last_line(node)) if node else None

    def lines(self, place: Place) -> list[str]:
        module = self.module(place.file)
        return list(module.lines[place.first - 1 : place.last]) if module else []


@dataclass(frozen=True, slots=True)
class Place:
    """A definition's file, qualified name, first and last line."""

    file: str
    name: str
    first: int
    last: int

    @property
    def key(self) -> str:
        return key_of(self.file, self.name)


@dataclass(frozen=True, slots=True)
class Found:
    """Where a definition is now, and how like it what is there is: 1.0 is the same."""

    place: Place
    score: float


def trace(old: Tree, new: Tree, file: str, name: str) -> Found | None:
    """The definition `name` of `file` in the new release, or None if nothing is like it."""
    shape = old.shape(file, name)
    here = new.place(file, name)
    if here is not None:
        there = new.shape(file, name)
        return Found(here, shape.likeness(there) if shape and there else 1.0)
    if shape is None:
        return None
    candidates = [
        Found(place, score)
        for path in likely_files(file, new.release.names())
        for place, score in _alike(old, new, path, file, name, shape)
    ]
    return max(candidates, key=lambda one: (one.score, one.place.name == name), default=None)


def likely_files(file: str, names: tuple[str, ...]) -> list[str]:
    """The file itself, then where a part of it may have gone, the likeliest first.

    >>> likely_files("v1/core/pool.py", ("v1/core/pool/a.py", "v1/core/x.py", "v1/pool.py"))
    ['v1/core/pool/a.py', 'v1/pool.py', 'v1/core/x.py']
    """
    path = PurePosixPath(file)
    package = f"{path.with_suffix('')}/"

    def rank(other: str) -> int | None:
        there = PurePosixPath(other)
        if there.suffix != ".py":
            return None
        if other == file:
            return 0
        if other.startswith(package):
            return 1
        if there.name == path.name and path.name != "__init__.py":
            return 2
        if there.parent == path.parent:
            return 3
        return 4 if path.parent in there.parents or there.parent in path.parents else None

    ranked = [(number, other) for other in names if (number := rank(other)) is not None]
    return [other for _, other in sorted(ranked)][:MOST_FILES]


def _alike(
    old: Tree, new: Tree, path: str, file: str, name: str, shape: Shape
) -> Iterator[tuple[Place, float]]:
    """The definitions of a file that may be the one looked for, with their likeness."""
    module, origin = new.module(path), old.module(file)
    node = origin.main(name) if origin else None
    last = name.rpartition(".")[2]
    for other in module.definitions if module else ():
        candidate = module.main(other) if module else None
        if candidate is None or node is None or not same_kind(node, candidate):
            continue
        same_name = other.rpartition(".")[2] == last
        if shape.is_trivial and not same_name:
            continue
        there = new.shape(path, other)
        least = _SAME_LAST_NAME if same_name else _OTHER_NAME
        score = shape.likeness(there, least) if there else 0.0
        # What was there before already, beside the one looked for, has not taken its place.
        if score and old.place(path, other) is None:
            yield Place(path, other, first_line(candidate), last_line(candidate)), score
