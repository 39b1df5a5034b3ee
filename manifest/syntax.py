"""A module of vLLM as a syntax tree: all that it defines, found by qualified name.

A name may be defined more than once: overloads, or branches of an `if` or `try`. All of its
definitions together are the symbol; the *main* one is the first that is no overload.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Assign | ast.AnnAssign
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Unreadable(ValueError):
    """The file is no Python that this interpreter can parse; `problem` says why."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Module:
    """What one module defines.

    >>> module = Module.of(b"class A:\\n    x: int = 1\\n    def f(self): ...")
    >>> list(module.definitions)
    ['A', 'A.x', 'A.f']
    """

    tree: ast.Module
    definitions: dict[str, tuple[Definition, ...]]
    lines: tuple[str, ...]

    @classmethod
    def of(cls, source: bytes) -> Module:
        """
        Raises:
            Unreadable: the source is no Python.
        """
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError) as error:
            raise Unreadable(str(error)) from error
        found: dict[str, tuple[Definition, ...]] = {}
        for name, node in _walk(tree, "", in_class=False):
            found[name] = (*found.get(name, ()), node)
        lines = source.decode("utf-8", "replace").splitlines()
        return cls(tree, found, tuple(lines))

    def main(self, name: str) -> Definition | None:
        """The definition of that name that counts, or None."""
        nodes = self.definitions.get(name, ())
        return next((node for node in nodes if not _is_overload(node)), nodes[0] if nodes else None)


def first_line(node: Definition) -> int:
    """Decorators belong to what they decorate."""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return node.lineno
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])


def last_line(node: Definition) -> int:
    return node.end_lineno or node.lineno


def is_text(node: ast.AST) -> bool:
    """A string that stands alone: a docstring, or a field's description below it."""
    match node:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
    return False


def _is_overload(node: Definition) -> bool:
    if not isinstance(node, _FUNCTIONS):
        return False
    return any(ast.unparse(one).split(".")[-1] == "overload" for one in node.decorator_list)


def _walk(node: ast.AST, prefix: str, in_class: bool) -> Iterator[tuple[str, Definition]]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.ClassDef():
                yield prefix + child.name, child
                yield from _walk(child, f"{prefix}{child.name}.", in_class=True)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield prefix + child.name, child
                if in_class:
                    yield from _fields(child, prefix)
            case ast.Assign() | ast.AnnAssign():
                for target in _targets(child):
                    if isinstance(target, ast.Name):
                        yield prefix + target.id, child
            case ast.If() | ast.Try() | ast.With() | ast.ExceptHandler():
                yield from _walk(child, prefix, in_class)


def _fields(method: ast.AST, prefix: str) -> Iterator[tuple[str, Definition]]:
    for node in ast.walk(method):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            for target in _targets(node):
                match target:
                    case ast.Attribute(value=ast.Name(id="self"), attr=name):
                        yield prefix + name, node


def _targets(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]
