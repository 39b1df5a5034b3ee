"""Where a definition has gone in another release: by its path and name, else by its shape."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from manifest.errors import NoSuchFile
from manifest.release import Release
from manifest.shapes import Shape, same_kind, shape_of
from manifest.symbols import key_of
from manifest.syntax import Module, Unreadable, first_line, last_line

MOST_FILES = 24
"""So many files of a release are looked through, at most, for what has left its own."""
_SAME_NAME = 0.2
_SAME_LAST_NAME = 0.5
_OTHER_NAME = 0.7


class Tree:
    """One release's modules, each read and parsed at most once."""

    def __init__(self, release: Release) -> None:
        self.release = release
        self._modules: dict[str, Module | None] = {}
        self._shapes: dict[tuple[str, str], Shape] = {}
        self._names: frozenset[str] | None = None

    def module(self, path: str) -> Module | None:
        """None where the release has no such file, or none that can be parsed."""
        if path not in self._modules:
            try:
                self._modules[path] = Module.of(self.release.read(path))
            except (NoSuchFile, Unreadable):
                self._modules[path] = None
        return self._modules[path]

    def module_with(self, path: str, word: str) -> Module | None:
        """The same, but only if the word is anywhere in the file: most need no parsing."""
        if path not in self._modules:
            try:
                if word.encode() not in self.release.read(path):
                    return None
            except NoSuchFile:
                return None
        return self.module(path)

    def has(self, path: str) -> bool:
        if self._names is None:
            self._names = frozenset(self.release.names())
        return path in self._names

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
    """Where a definition is now. `score` says how like it is what was found by its shape (1.0:
    the same); None if it was found by its path and name."""

    place: Place
    score: float | None = None


def trace(old: Tree, new: Tree, file: str, name: str) -> Found | None:
    """The definition `name` of `file` in the new release, or None if nothing is like it."""
    here = new.place(file, name)
    if here is not None:
        return Found(here)
    shape = old.shape(file, name)
    best: tuple[float, bool, Place] | None = None
    files = likely_files(file, new.release.names()) if shape else []
    for path in files:
        for place, score in _alike(old, new, path, file, name) if shape else ():
            found = (score, place.name == name, place)
            if best is None or found[:2] > best[:2]:
                best = found
        if best and best[:2] == (1.0, True):
            break
    return Found(best[2], best[0]) if best else None


def near(new: Tree, file: str, name: str) -> tuple[str, ...]:
    """Keys of definitions with the same last name that a person may want to cite instead."""
    last = name.rpartition(".")[2]
    return tuple(
        key_of(path, other)
        for path in likely_files(file, new.release.names())
        if (module := new.module_with(path, last))
        for other in module.definitions
        if other.rpartition(".")[2] == last
    )[:3]


def likely_files(file: str, names: tuple[str, ...]) -> list[str]:
    """The file itself, then where a part of it may have gone, the likeliest first.

    >>> likely_files("v1/core/pool.py", ("v1/core/pool/a.py", "v1/core/x.py", "v1/pool.py"))
    ['v1/core/pool/a.py', 'v1/pool.py', 'v1/core/x.py']
    """
    folder, _, base = file.rpartition("/")
    package = file.removesuffix(".py") + "/"

    def rank(other: str) -> int | None:
        there, _, other_base = other.rpartition("/")
        if not other.endswith(".py"):
            return None
        if other == file:
            return 0
        if other.startswith(package):
            return 1
        if other_base == base != "__init__.py":
            return 2
        if there == folder:
            return 3
        above = there.startswith(f"{folder}/") or folder.startswith(f"{there}/")
        return 4 if above else None

    ranked = [(number, other) for other in names if (number := rank(other)) is not None]
    return [other for _, other in sorted(ranked)][:MOST_FILES]


def _alike(old: Tree, new: Tree, path: str, file: str, name: str) -> Iterator[tuple[Place, float]]:
    """The definitions of a file that may be the one looked for, with their likeness.

    Under another name it is looked for only in files that are new, and in its own.
    """
    origin, shape = old.module(file), old.shape(file, name)
    node = origin.main(name) if origin else None
    last = name.rpartition(".")[2]
    is_open = path == file or not old.has(path)
    module = new.module(path) if is_open else new.module_with(path, last)
    if node is None or shape is None or module is None:
        return
    for other in module.definitions:
        candidate = module.main(other)
        same_last = other.rpartition(".")[2] == last
        if candidate is None or not same_kind(node, candidate):
            continue
        if not same_last and (not is_open or shape.is_trivial):
            continue
        least = _SAME_NAME if other == name else _SAME_LAST_NAME if same_last else _OTHER_NAME
        there = new.shape(path, other)
        score = shape.likeness(there, least) if there else 0.0
        # What was there before already, beside the one looked for, has not taken its place.
        if score and old.place(path, other) is None:
            yield Place(path, other, first_line(candidate), last_line(candidate)), score
