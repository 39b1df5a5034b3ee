"""A lesson's checks as its suite's text states them: nothing of the suite is run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from grader.lessons import Lesson


@dataclass(frozen=True)
class CheckHead:
    """What may be told of a check before anybody's submission: its name, title and points."""

    name: str
    title: str
    points: int


@cache
def checks_of(lesson: Lesson) -> tuple[CheckHead, ...]:
    """The checks of a lesson's suite in their order; none where the suite cannot be read.

    >>> sum(check.points for check in checks_of(Lesson("kv_cache/block_pool")))
    20
    """
    try:
        tree = ast.parse(lesson.suite.read_bytes())
    except (OSError, SyntaxError):
        return ()
    return tuple(_heads(tree))


def _heads(tree: ast.Module) -> Iterator[CheckHead]:
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef):
            continue
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "check":
                title = (ast.get_docstring(node) or node.name).splitlines()[0]
                yield CheckHead(node.name, title, _points(decorator))


def _points(decorator: ast.Call) -> int:
    given = [word.value for word in decorator.keywords if word.arg == "points"]
    value = (*given, *decorator.args)[0]
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, int) else 0
