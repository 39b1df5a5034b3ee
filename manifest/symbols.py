"""The symbols of vLLM that the lessons cite: where each is defined in the pinned release.

`symbols.yaml` holds one entry for each citation, keyed by `path#Qualified.name`, or by `path`
where a whole file is cited. Nothing of vLLM's text is in it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

from manifest.checksums import checksum
from manifest.errors import NoSuchFile
from manifest.release import Release
from manifest.shapes import shape_of
from manifest.syntax import Definition, Module, Unreadable, first_line, last_line

SYMBOLS_FILE = Path(__file__).with_name("symbols.yaml")
# A label in backticks may hold brackets.
CITATION = re.compile(
    r"\[(?P<label>`[^`]+`|[^\[\]]+)\]\(vllm:(?P<path>[^)#\s]+)(?:#(?P<symbol>[^)\s]+))?\)"
)

Kind = Literal["file", "class", "function", "method", "variable", "field"]


@dataclass(frozen=True, slots=True)
class Symbol:
    """A definition: its lines count from 1, both included; `file_lines` and `sha256` are of the
    whole file. `tree` is a hash of what the definition does: its syntax tree without its name,
    comments, docstrings and layout ("" where a file is no Python). `name` is empty where the file
    itself is meant."""

    file: str
    name: str
    kind: Kind
    first: int
    last: int
    file_lines: int
    sha256: str
    tree: str = ""

    @property
    def key(self) -> str:
        return key_of(self.file, self.name)


@dataclass(frozen=True, slots=True)
class Citation:
    """A link of a lesson's text into vLLM's source, and the line of the text it stands in."""

    line: int
    file: str
    name: str

    @property
    def key(self) -> str:
        return key_of(self.file, self.name)


def key_of(file: str, name: str) -> str:
    """
    >>> key_of("vllm/v1/core/block_pool.py", "BlockPool.touch")
    'vllm/v1/core/block_pool.py#BlockPool.touch'
    """
    return f"{file}#{name}" if name else file


def citations(text: str) -> list[Citation]:
    """The links `[...](vllm:path#Symbol)` of a text, in order.

    >>> citations("See [`touch`](vllm:vllm/v1/core/block_pool.py#BlockPool.touch).")[0].name
    'BlockPool.touch'
    """
    return [
        Citation(number, match["path"], match["symbol"] or "")
        for number, line in enumerate(text.splitlines(), start=1)
        for match in CITATION.finditer(line)
    ]


class SourceFile:
    """One file of a release."""

    def __init__(self, path: str, content: bytes) -> None:
        self.path = path
        self.content = content

    @cached_property
    def module(self) -> Module | None:
        """What it defines; None where it is no Python."""
        try:
            return Module.of(self.content) if self.path.endswith(".py") else None
        except Unreadable:
            return None

    def symbol(self, name: str) -> Symbol | None:
        """The definition of that qualified name, "" for the file itself; None if there is none.

        >>> found = SourceFile("a.py", b"class A:\\n    @staticmethod\\n    def f(): ...")
        >>> symbol = found.symbol("A.f")
        >>> symbol.kind, symbol.first, symbol.last, symbol.file_lines
        ('method', 2, 3, 3)
        """
        lines = len(self.content.splitlines())
        sha256 = checksum(self.content)
        if not name:
            tree = shape_of(self.module.tree.body).digest if self.module else ""
            return Symbol(self.path, "", "file", 1, lines, lines, sha256, tree)
        node = self.module.main(name) if self.module else None
        if node is None or self.module is None:
            return None
        tree = shape_of(self.module.definitions[name]).digest
        kind = kind_of(name, node)
        first, last = first_line(node), last_line(node)
        return Symbol(self.path, name, kind, first, last, lines, sha256, tree)


class Source:
    """The definitions of a release, each file read once."""

    def __init__(self, release: Release) -> None:
        self.release = release
        self._files: dict[str, SourceFile | None] = {}

    def find(self, key: str) -> Symbol | None:
        """The symbol of that key; None if the release has no such file, or no such definition.

        Raises:
            SourceError: the file cannot be had.
        """
        path, _, name = key.partition("#")
        file = self.file(path)
        return file.symbol(name) if file is not None else None

    def file(self, path: str) -> SourceFile | None:
        """The file of that path; None if the release has none.

        Raises:
            SourceError: it cannot be had.
        """
        if path not in self._files:
            try:
                self._files[path] = SourceFile(path, self.release.read(path))
            except NoSuchFile:
                self._files[path] = None
        return self._files[path]


def kind_of(name: str, node: Definition) -> Kind:
    """What a definition of that qualified name is: only classes have something inside."""
    inside = "." in name
    match node:
        case ast.ClassDef():
            return "class"
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return "method" if inside else "function"
    return "field" if inside else "variable"


@cache
def load(file: Path = SYMBOLS_FILE) -> dict[str, Symbol]:
    """The symbols of the checked-in list by their keys; none if there is no list yet."""
    import yaml

    if not file.is_file():
        return {}
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    data: dict[str, dict[str, Any]] = yaml.load(file.read_text(encoding="utf-8"), loader) or {}
    return {key: Symbol(**entry) for key, entry in data.items()}


def dump(symbols: Iterable[Symbol]) -> str:
    """The list as YAML, sorted by key."""
    import yaml

    entries = {symbol.key: asdict(symbol) for symbol in sorted(symbols, key=lambda s: s.key)}
    head = "# The symbols that the lessons cite. Written by `vllmlings manifest add`.\n"
    return head + yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=1000)
