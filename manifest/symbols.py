"""The symbols of vLLM that the lessons cite: where each is defined in the pinned release.

`symbols.yaml` holds one entry for each citation, keyed by `path#Qualified.name`, or by `path`
where a whole file is cited. Nothing of vLLM's text is in it.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

SYMBOLS_FILE = Path(__file__).with_name("symbols.yaml")
CITATION = re.compile(r"\[(?P<label>[^\]]+)\]\(vllm:(?P<path>[^)#\s]+)(?:#(?P<symbol>[^)\s]+))?\)")

Kind = Literal["file", "class", "function", "method", "variable", "field"]


@dataclass(frozen=True, slots=True)
class Symbol:
    """A definition: its lines count from 1, both included; `file_lines` and `sha256` are of the
    whole file. `name` is empty where the file itself is meant."""

    file: str
    name: str
    kind: Kind
    first: int
    last: int
    file_lines: int
    sha256: str

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


class Source:
    """The source of vLLM in a folder that holds the package `vllm`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, dict[str, Symbol]] = {}

    def find(self, key: str) -> Symbol | None:
        """The symbol of that key; None if the source has no such file, or no such definition."""
        file, _, name = key.partition("#")
        if file not in self._files:
            self._files[file] = self._read(file)
        return self._files[file].get(name)

    def _read(self, file: str) -> dict[str, Symbol]:
        path = self._folder / file
        if not path.is_file():
            return {}
        content = path.read_bytes()
        lines = len(content.splitlines())
        sha256 = hashlib.sha256(content).hexdigest()
        found = {"": Symbol(file, "", "file", 1, lines, lines, sha256)}
        if path.suffix == ".py":
            for name, kind, first, last in definitions(content):
                # The first definition counts: what follows are overloads or other branches.
                found.setdefault(name, Symbol(file, name, kind, first, last, lines, sha256))
        return found


def definitions(source: bytes) -> Iterator[tuple[str, Kind, int, int]]:
    """Qualified name, kind, first and last line of all that a module defines.

    Decorators belong to what they decorate. Fields are what a class body, or a method on `self`,
    gives a value or a type.

    >>> [name for name, *_ in definitions(b"class A:\\n    x: int = 0\\n    def f(self): ...")]
    ['A', 'A.x', 'A.f']
    """
    yield from _definitions(ast.parse(source), "", in_class=False)


def _definitions(
    node: ast.AST, prefix: str, in_class: bool
) -> Iterator[tuple[str, Kind, int, int]]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.ClassDef():
                yield prefix + child.name, "class", _first(child), _last(child)
                yield from _definitions(child, f"{prefix}{child.name}.", in_class=True)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                kind: Kind = "method" if in_class else "function"
                yield prefix + child.name, kind, _first(child), _last(child)
                if in_class:
                    yield from _fields(child, prefix)
            case ast.Assign() | ast.AnnAssign():
                targets = child.targets if isinstance(child, ast.Assign) else [child.target]
                for target in targets:
                    if isinstance(target, ast.Name):
                        kind = "field" if in_class else "variable"
                        yield prefix + target.id, kind, child.lineno, _last(child)
            case ast.If() | ast.Try():
                yield from _definitions(child, prefix, in_class)


def _fields(method: ast.AST, prefix: str) -> Iterator[tuple[str, Kind, int, int]]:
    for node in ast.walk(method):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                match target:
                    case ast.Attribute(value=ast.Name(id="self"), attr=name):
                        yield prefix + name, "field", node.lineno, _last(node)


def _first(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _last(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


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
    head = "# The symbols that the lessons cite. Written by `vllmlings prove --write-symbols`.\n"
    return head + yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=1000)
