"""Shapes of code, as facts about it: `_ * VALUE * max(_, _)`.

A pattern is Python in which `_` stands for any expression and `VALUE` for the one that is asked
for. In a dictionary and among keyword arguments only what the pattern names must be there, and
`...` among arguments stands for the rest of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache


class BadPattern(ValueError):
    """The pattern is no Python, or asks for nothing."""


@cache
def parse(pattern: str) -> ast.AST:
    """The pattern's tree: an expression or a single statement.

    Raises:
        BadPattern: it is neither.
    """
    try:
        body = ast.parse(pattern).body
    except SyntaxError as error:
        raise BadPattern(f"{pattern}: {error.msg}") from error
    if len(body) != 1:
        raise BadPattern(f"{pattern}: a pattern is one expression or one statement")
    return body[0].value if isinstance(body[0], ast.Expr) else body[0]


def matches(pattern: str, node: ast.AST) -> Iterator[ast.expr]:
    """What stands at VALUE wherever the pattern fits inside `node`, in the source's order.

    >>> [ast.unparse(one) for one in matches("f(_, VALUE)", ast.parse("f(1, 2) + f(a, 3 * 4)"))]
    ['2', '3 * 4']
    """
    wanted = parse(pattern)
    for candidate in _in_order(node):
        found: list[ast.expr] = []
        if _fits(wanted, candidate, found) and found:
            yield found[0]


def fits(pattern: str, node: ast.AST) -> bool:
    """Does the pattern, without a VALUE, fit the whole of `node`?

    >>> fits("_ >= 70 * _", ast.parse("memory >= 70 * GiB", mode="eval").body)
    True
    """
    return _fits(parse(pattern), node, [])


def branches(test: str, node: ast.AST, otherwise: bool) -> Iterator[ast.stmt]:
    """The statements behind each `if` with that test, or behind its `else`.

    A test that joins several by `and` or `or` fits if one of them does.
    """
    for one in _in_order(node):
        if isinstance(one, ast.If) and any(fits(test, part) for part in _parts(one.test)):
            yield from one.orelse if otherwise else one.body


def _parts(test: ast.expr) -> Iterator[ast.expr]:
    yield test
    if isinstance(test, ast.BoolOp):
        yield from test.values


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    """Depth first: as the source is read."""
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _in_order(child)


def _fits(pattern: object, node: object, found: list[ast.expr]) -> bool:
    match pattern:
        case ast.Name(id="_"):
            return isinstance(node, ast.expr)
        case ast.Name(id="VALUE"):
            if not isinstance(node, ast.expr):
                return False
            found.append(node)
            return True
        case ast.Call():
            return isinstance(node, ast.Call) and _call_fits(pattern, node, found)
        case ast.Dict():
            return isinstance(node, ast.Dict) and _dict_fits(pattern, node, found)
        case ast.Assign(targets=[target]) if isinstance(node, ast.AnnAssign):
            return _fits(target, node.target, found) and _fits(pattern.value, node.value, found)
        case ast.AST():
            return type(pattern) is type(node) and _fields_fit(pattern, node, found)
        case list():
            return (
                isinstance(node, list)
                and len(pattern) == len(node)
                and all(_fits(a, b, found) for a, b in zip(pattern, node, strict=True))
            )
    return type(pattern) is type(node) and pattern == node


def _fields_fit(pattern: ast.AST, node: object, found: list[ast.expr]) -> bool:
    return all(
        _fits(value, getattr(node, name, None), found)
        for name, value in ast.iter_fields(pattern)
        if name not in ("ctx", "type_comment", "kind")
    )


def _call_fits(pattern: ast.Call, node: ast.Call, found: list[ast.expr]) -> bool:
    given = {one.arg: one.value for one in node.keywords}
    wanted = list(pattern.args)
    rest = bool(wanted) and isinstance(wanted[-1], ast.Constant) and wanted[-1].value is ...
    if rest:
        wanted.pop()
    if len(node.args) < len(wanted) or (len(node.args) > len(wanted) and not rest):
        return False
    return (
        _fits(pattern.func, node.func, found)
        and all(_fits(a, b, found) for a, b in zip(wanted, node.args, strict=False))
        and all(
            one.arg in given and _fits(one.value, given[one.arg], found) for one in pattern.keywords
        )
    )


def _dict_fits(pattern: ast.Dict, node: ast.Dict, found: list[ast.expr]) -> bool:
    there = {ast.dump(key): value for key, value in zip(node.keys, node.values, strict=True) if key}
    return all(
        key is not None and _fits(value, there.get(ast.dump(key)), found)
        for key, value in zip(pattern.keys, pattern.values, strict=True)
    )
