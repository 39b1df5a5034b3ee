"""Mutants that return a value of the wrong kind: a forgotten `return`, and what else is met.

Each public function and method of a solution does its work and then returns something else.
However wrong that is, it is the submission that fails, never the grader.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from grader.prove.change import Change
from grader.stub import regions

#: What is returned, by the name that the mutant has.
SHAPES = {"None": "None", "Iterator": "iter(())", "Text": '"x"'}
#: What may decorate a method, and how to come by its function.
_DECORATORS = {"property": ".fget", "staticmethod": ".__func__", "classmethod": ".__func__"}


@dataclass(frozen=True)
class _Function:
    """A public function, or a method of a public class."""

    node: ast.FunctionDef
    owner: str | None

    @property
    def kind(self) -> str:
        """What decorates it, if it changes how it is called."""
        names = [ast.unparse(one) for one in self.node.decorator_list]
        return next((name for name in names if name in _DECORATORS), "")

    def returning(self, value: str) -> str:
        """Code that stands behind the solution and has this return a value."""
        name, kind = self.node.name, self.kind
        place = f"{self.owner}.{name}" if self.owner else name
        found = f"vars({self.owner})[{name!r}]{_DECORATORS[kind]}" if kind else place
        return (
            f"\n\n_before = {found}\n\n\n"
            "def _after(*args, **kwargs):\n"
            "    _before(*args, **kwargs)\n"
            f"    return {value}\n\n\n"
            f"{place} = {kind}(_after)\n"
        )


def shapes(solution: str, filename: str) -> Iterator[Change]:
    """The mutants of a solution. One may pass if what it changes is given, or returns nothing."""
    first_lines = [first for first, _ in regions(solution, filename)]
    lines = solution.splitlines()
    for function in _public(ast.parse(solution, filename)):
        node = function.node
        own_lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        given = not any(first in own_lines for first in first_lines)
        returns_nothing = node.returns is None or ast.unparse(node.returns) == "None"
        for name, value in SHAPES.items():
            yield Change(
                operator=f"Returns{name}",
                line=lines[node.lineno - 1].strip(),
                occurrence=0,
                number=node.lineno,
                mutated=f"return {value}",
                source=solution + function.returning(value),
                may_pass=given or returns_nothing,
            )


def _public(module: ast.Module) -> Iterator[_Function]:
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and node.name[0] != "_":
            yield _Function(node, None)
        elif isinstance(node, ast.ClassDef) and node.name[0] != "_":
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef) and inner.name[0] != "_":
                    yield _Function(inner, node.name)
