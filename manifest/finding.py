"""What a person types, as a piece of a release's source.

- `vllm/v1/core/block_pool.py#BlockPool.touch`, as a lesson cites it;
- `BlockPool.touch`, `touch`, or with its module: `vllm.v1.core.block_pool.BlockPool`;
- `block_pool.py`, `core/block_pool.py`, with lines: `block_pool.py:120`, `block_pool.py:120-160`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NoReturn

from manifest.errors import NoSuchFile
from manifest.release import Release
from manifest.symbols import Kind, Source, SourceFile, Symbol, key_of, kind_of
from manifest.syntax import first_line, last_line

_FILE = re.compile(r"(?P<path>[^:#]+)(?::(?P<first>\d+)(?:-(?P<last>\d+))?)?")
_SUFFIX = re.compile(r"\.(py|pyi|rs|toml|md|json|txt|yaml|cu|cuh|cpp|cc|c|h|hpp|inl|jinja|proto)$")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_MOST_GUESSES = 8


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of a file, from 1, both included. `name` is "" where lines or a file were asked for."""

    version: str
    file: str
    name: str
    kind: Kind
    first: int
    last: int
    lines: tuple[str, ...]

    @property
    def key(self) -> str:
        return key_of(self.file, self.name)


class NotFound(LookupError):
    """Nothing of that name is in the release, as far as was looked; `near` are like it."""

    def __init__(self, wanted: str, version: str, near: tuple[str, ...] = ()) -> None:
        super().__init__(wanted, version, near)
        self.wanted = wanted
        self.version = version
        self.near = near

    def __str__(self) -> str:
        told = f"{self.wanted}: not found in vLLM {self.version}"
        if self.near:
            return f"{told}; did you mean {' or '.join(self.near)}?"
        return f"{told}; name its module too: vllm.v1.core.block_pool.BlockPool"


class Ambiguous(LookupError):
    """More than one thing has that name; `keys` tell them apart."""

    def __init__(self, wanted: str, keys: tuple[str, ...]) -> None:
        super().__init__(wanted, keys)
        self.wanted = wanted
        self.keys = keys

    def __str__(self) -> str:
        shown = ", ".join(self.keys[:6]) + (" ..." if len(self.keys) > 6 else "")
        return f"{self.wanted}: more than one is called so; say which: {shown}"


class BadLines(ValueError):
    """The lines that are asked for are not in the file."""

    def __init__(self, wanted: str, file_lines: int) -> None:
        super().__init__(wanted, file_lines)
        self.wanted = wanted
        self.file_lines = file_lines

    def __str__(self) -> str:
        return f"{self.wanted}: the file has lines 1 to {self.file_lines:,}"


class Finder:
    """Finds what a person types. `known` are the cited symbols by key: they are looked through
    first, and where `release` is what they were noted from, they say where they stand."""

    def __init__(
        self, release: Release, known: Mapping[str, Symbol], known_version: str | None = None
    ) -> None:
        self._source = Source(release)
        self._release = release
        self._known = known
        self._holds = release.version == known_version

    def find(self, wanted: str) -> Excerpt:
        """
        Raises:
            NotFound, Ambiguous, BadLines: as they say.
            SourceError: the release's files cannot be had.
        """
        text = wanted.strip().removeprefix("vllm:")
        path, mark, name = text.partition("#")
        if mark and name:
            return self._definition(self._path(path), name) or self._nothing(text)
        match = _FILE.fullmatch(path)
        if match and ("/" in match["path"] or _SUFFIX.search(match["path"])):
            return self._lines(wanted, self._path(match["path"]), match["first"], match["last"])
        return self._by_name(path)

    def _lines(self, wanted: str, path: str, first: str | None, last: str | None) -> Excerpt:
        file = self._file(path)
        whole = _excerpt(self._release.version, file)
        if first is None:
            return whole
        begin, end = int(first), int(last or first)
        if not 1 <= begin <= end <= whole.last:
            raise BadLines(wanted, whole.last)
        return replace(whole, first=begin, last=end)

    def _path(self, path: str) -> str:
        """The whole path; a cited file is meant before others that end alike."""
        cited = {symbol.file for symbol in self._known.values()}
        if path in cited:
            return path
        for names in (cited, self._release.names()):
            if path in names:
                return path
            found = sorted(name for name in names if name.endswith(f"/{path}"))
            if len(found) > 1:
                raise Ambiguous(path, tuple(found))
            if found:
                return found[0]
        return path

    def _by_name(self, name: str) -> Excerpt:
        keys = _called(name, self._known)
        if len(keys) > 1:
            raise Ambiguous(name, tuple(keys))
        if keys:
            path, _, known = keys[0].partition("#")
            return self._definition(path, known) or self._nothing(keys[0])
        if name.startswith("vllm."):
            return self._by_module(name)
        return self._by_guess(name)

    def _by_module(self, name: str) -> Excerpt:
        """`vllm.v1.core.block_pool.BlockPool`: the longest part that is a file is the module."""
        parts = name.split(".")
        names = set(self._release.names())
        for length in range(len(parts), 0, -1):
            folder = "/".join(parts[:length])
            for path in (f"{folder}.py", f"{folder}/__init__.py"):
                if path not in names:
                    continue
                rest = ".".join(parts[length:])
                if not rest:
                    return _excerpt(self._release.version, self._file(path))
                found = self._definition(path, rest)
                if found is not None:
                    return found
        return self._nothing(name)

    def _by_guess(self, name: str) -> Excerpt:
        """Not a cited one: in a file named after its class, else in any file that is cited."""
        stem = _CAMEL.sub("_", name.partition(".")[0]).lower()
        cited = sorted({symbol.file for symbol in self._known.values()})
        for paths in (_modules(stem, cited), _modules(stem, self._release.names()), cited):
            keys = _called(name, self._defined(name, paths))
            if len(keys) > 1:
                raise Ambiguous(name, tuple(keys))
            if keys:
                path, _, found = keys[0].partition("#")
                return self._definition(path, found) or self._nothing(name)
        return self._nothing(name)

    def _defined(self, name: str, paths: Iterable[str]) -> Iterator[str]:
        for path in paths:
            file = self._source.file(path)
            if file is not None and file.module is not None:
                yield from _called(name, (key_of(path, one) for one in file.module.definitions))

    def _definition(self, path: str, name: str) -> Excerpt | None:
        file = self._file(path)
        whole = _excerpt(self._release.version, file)
        known = self._known.get(key_of(path, name)) if self._holds else None
        if known is not None:
            kind, first, last = known.kind, known.first, known.last
        elif file.module is not None and (node := file.module.main(name)) is not None:
            kind, first, last = kind_of(name, node), first_line(node), last_line(node)
        else:
            return None
        return replace(whole, name=name, kind=kind, first=first, last=last)

    def _file(self, path: str) -> SourceFile:
        file = self._source.file(path)
        if file is None:
            # Once more, for the error and what it suggests.
            self._release.read(path)
            raise NoSuchFile(path, self._release.version)
        return file

    def _nothing(self, wanted: str) -> NoReturn:
        names = {symbol.name: key for key, symbol in self._known.items() if symbol.name}
        near = difflib.get_close_matches(wanted.partition("#")[2] or wanted, names, n=2, cutoff=0.7)
        raise NotFound(wanted, self._release.version, tuple(near))


def _modules(stem: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.endswith(f"/{stem}.py")][:_MOST_GUESSES]


def _called(name: str, keys: Iterable[str]) -> list[str]:
    """The keys of what is called so: by its whole name, else by the end of it."""
    keys = list(keys)
    whole = [key for key in keys if key.partition("#")[2] == name]
    return whole or [key for key in keys if key.endswith(f".{name}") and "#" in key]


def _excerpt(version: str, file: SourceFile) -> Excerpt:
    lines = tuple(line.decode("utf-8", "replace") for line in file.content.splitlines())
    return Excerpt(version, file.path, "", "file", 1, len(lines), lines)
