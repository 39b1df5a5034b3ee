"""What a definition does, without its name, its docstrings, its comments and its layout."""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from manifest.syntax import Definition, is_text

TRIVIAL = 12
"""A tree of fewer parts than this says too little to be known again under another name."""
_NO_CODE = ("kind", "type_comment")
_TAGS_OF_CHANGE = ("replace", "delete", "insert")


@dataclass(frozen=True, slots=True)
class Shape:
    """The parts of a syntax tree in order; equal shapes run alike.

    >>> a, b = (shape_of(ast.parse(text).body) for text in ("def f(x): return x", "def g(x):\\n"
    ...         "  'Text.'\\n  return x  # why"))
    >>> a == b
    True
    """

    parts: tuple[str, ...]

    @property
    def digest(self) -> str:
        return hashlib.sha256("\n".join(self.parts).encode()).hexdigest()

    @property
    def is_trivial(self) -> bool:
        return len(self.parts) < TRIVIAL

    def likeness(self, other: Shape, at_least: float = 0.0) -> float:
        """From 0.0, nothing in common, to 1.0, the same; 0.0 if it would be below `at_least`."""
        if self.parts == other.parts:
            return 1.0
        longer = max(len(self.parts), len(other.parts)) or 1
        common = (Counter(self.parts) & Counter(other.parts)).total()
        if common / longer < at_least:
            return 0.0
        matcher = SequenceMatcher(None, self.parts, other.parts, autojunk=False)
        same = sum(block.size for block in matcher.get_matching_blocks())
        return same / longer if same / longer >= at_least else 0.0


def shape_of(nodes: Iterable[ast.stmt]) -> Shape:
    """The shape of a definition, or of all definitions of one name together."""
    return Shape(tuple(part for node in nodes for part in _parts(node, is_root=True)))


def changed_lines(old: list[str], new: list[str]) -> tuple[int, int]:
    """How many lines were added and how many removed, as `diff` counts them.

    >>> changed_lines(["a", "b", "c"], ["a", "x", "y", "c"])
    (2, 1)
    """
    added = removed = 0
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, first, last, new_first, new_last in matcher.get_opcodes():
        if tag in _TAGS_OF_CHANGE:
            removed += last - first
            added += new_last - new_first
    return added, removed


def _parts(node: ast.AST, is_root: bool = False) -> Iterator[str]:
    """The node's type and what it holds that is no node, then its children, in order."""
    values, children = [], []
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            children += value
        elif isinstance(value, ast.AST):
            children.append(value)
        elif value is not None and name not in _NO_CODE and not (is_root and name == "name"):
            values.append(repr(value))
    yield " ".join([type(node).__name__, *values])
    named = is_root and isinstance(node, ast.Assign | ast.AnnAssign)
    for child in children[1:] if named else children:
        if isinstance(child, ast.AST):
            if not isinstance(child, ast.expr_context) and not is_text(child):
                yield from _parts(child)
        elif child is not None:
            yield repr(child)


def same_kind(a: Definition, b: Definition) -> bool:
    """A class can only become a class, a function a function."""
    kinds = ((ast.ClassDef,), (ast.FunctionDef, ast.AsyncFunctionDef), (ast.Assign, ast.AnnAssign))
    return any(isinstance(a, kind) and isinstance(b, kind) for kind in kinds)
