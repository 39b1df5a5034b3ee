"""Expressions of vLLM's source evaluated without running it: literals, sums of them, names of
constants in the same or another module, and defaults of environment variables."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from manifest.syntax import Module

Open = Callable[[str], Module | None]
"""A module of the release by its path; None where there is no such file."""


def nothing_else(path: str) -> Module | None:  # noqa: ARG001 (the shape of Open)
    """For expressions that stand alone."""
    return None


ENVIRONMENT_FILE = "vllm/envs.py"
ENVIRONMENT_TABLE = "environment_variables"
_DEEPEST = 12
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.Pow: operator.pow,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
    ast.Is: lambda a, b: a is b,
    ast.IsNot: lambda a, b: a is not b,
    ast.Lt: operator.lt,
    ast.Gt: operator.gt,
}
_CALLS: dict[str, Callable[..., Any]] = {
    "int": int,
    "float": float,
    "bool": bool,
    "str": str,
    "len": len,
    "min": min,
    "max": max,
    "sum": sum,
    "tuple": tuple,
    "list": list,
    "set": set,
    "frozenset": frozenset,
}
_TEXT_METHODS = ("lower", "upper", "strip", "split", "encode")
_READS_ENVIRONMENT = ("os.getenv", "os.environ.get", "getenv")
_WITH_CHOICES = ("env_with_choices", "env_list_with_choices", "env_set_with_choices")


class NotConstant(ValueError):
    """The expression cannot be told without running the program; `expression` is its source."""

    def __init__(self, expression: str) -> None:
        super().__init__(expression)
        self.expression = expression


@dataclass(frozen=True, slots=True)
class Scope:
    """Where an expression stands: its module, the class around it, and how to open others."""

    module: Module
    owner: str = ""
    open: Open = nothing_else
    depth: int = 0

    def deeper(self) -> Scope:
        if self.depth >= _DEEPEST:
            raise NotConstant("a name that stands for itself")
        return Scope(self.module, self.owner, self.open, self.depth + 1)


def evaluate(node: ast.expr, scope: Scope) -> Any:
    """The value of an expression. A dotted name that is no constant is given as text.

    >>> evaluate(ast.parse("(1 << 20) * 24", mode="eval").body, Scope(Module.of(b"")))
    25165824

    Raises:
        NotConstant: with the part that cannot be told.
    """
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
            return [evaluate(one, scope) for one in items]
        case ast.Dict(keys=keys, values=values):
            return _dictionary(keys, values, scope)
        case ast.Lambda(body=body):
            return evaluate(body, scope)
        case ast.Call():
            return ast.unparse(node) if _is_auto(node) else _call(node, scope)
        case ast.Name() | ast.Attribute():
            return _name(ast.unparse(node), scope)
    return _operation(node, scope)


def environment_default(name: str, open_file: Open) -> tuple[Any, int]:
    """What vLLM takes for the environment variable when it is not set, and the line.

    Raises:
        LookupError: vLLM has no such variable.
        NotConstant: the default is worked out when vLLM runs.
    """
    module = open_file(ENVIRONMENT_FILE)
    table = module.main(ENVIRONMENT_TABLE) if module else None
    value = table.value if isinstance(table, ast.Assign | ast.AnnAssign) else None
    if module is None or not isinstance(value, ast.Dict):
        raise LookupError(f"{ENVIRONMENT_FILE} has no table {ENVIRONMENT_TABLE}")
    for key, entry in zip(value.keys, value.values, strict=True):
        if isinstance(key, ast.Constant) and key.value == name:
            return evaluate(entry, Scope(module, "", open_file)), key.lineno
    raise LookupError(f"{ENVIRONMENT_FILE} has no variable {name}")


def _is_auto(node: ast.Call) -> bool:
    """A member of an enumeration that has no value of its own."""
    return ast.unparse(node.func) in ("enum.auto", "auto")


def _dictionary(keys: list[ast.expr | None], values: list[ast.expr], scope: Scope) -> Any:
    made: dict[Any, Any] = {}
    for key, value in zip(keys, values, strict=True):
        if key is not None:
            made[evaluate(key, scope)] = evaluate(value, scope)
        elif isinstance(spread := evaluate(value, scope), dict):
            made |= spread
        else:
            raise NotConstant(ast.unparse(value))
    return made


def _operation(node: ast.expr, scope: Scope) -> Any:
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -evaluate(operand, scope)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not evaluate(operand, scope)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _BINARY:
            return _apply(node, _BINARY[type(sign)], evaluate(left, scope), evaluate(right, scope))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return evaluate(body if evaluate(test, scope) else orelse, scope)
        case ast.BoolOp(op=sign, values=values):
            return _either(values, scope, stop=isinstance(sign, ast.Or))
        case ast.Compare(left=left, ops=[sign], comparators=[right]) if type(sign) in _COMPARE:
            if ast.unparse(right) == "os.environ":
                return isinstance(sign, ast.NotIn)
            return _apply(node, _COMPARE[type(sign)], evaluate(left, scope), evaluate(right, scope))
    raise NotConstant(ast.unparse(node))


def _apply(node: ast.expr, function: Callable[..., Any], *values: Any) -> Any:
    try:
        return function(*values)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise NotConstant(ast.unparse(node)) from error


def _either(values: list[ast.expr], scope: Scope, stop: bool) -> Any:
    result: Any = None
    for one in values:
        result = evaluate(one, scope)
        if bool(result) is stop:
            break
    return result


def _call(node: ast.Call, scope: Scope) -> Any:
    name = ast.unparse(node.func)
    named = {one.arg: one.value for one in node.keywords}
    if name in _READS_ENVIRONMENT:
        return evaluate(node.args[1], scope) if len(node.args) > 1 else None
    if name in _WITH_CHOICES:
        return evaluate(node.args[1], scope)
    if name.split(".")[-1] in ("Field", "field"):
        return _field(node, named, scope)
    if isinstance(node.func, ast.Attribute) and node.func.attr in _TEXT_METHODS:
        text = evaluate(node.func.value, scope)
        given = [evaluate(one, scope) for one in node.args]
        if isinstance(text, str) and not named:
            return _apply(node, getattr(text, node.func.attr), *given)
    if name in _CALLS and not named:
        return _apply(node, _CALLS[name], *(evaluate(one, scope) for one in node.args))
    raise NotConstant(ast.unparse(node))


def _field(node: ast.Call, named: dict[str | None, ast.expr], scope: Scope) -> Any:
    """The default of a dataclass's or pydantic's field."""
    if "default" in named:
        return evaluate(named["default"], scope)
    if node.args:
        return evaluate(node.args[0], scope)
    factory = named.get("default_factory")
    made: dict[str, Any] = {"list": [], "dict": {}, "set": []}
    if isinstance(factory, ast.Name) and factory.id in made:
        return made[factory.id]
    if isinstance(factory, ast.Lambda):
        return evaluate(factory, scope)
    raise NotConstant(ast.unparse(node))


def _name(name: str, scope: Scope) -> Any:
    """The constant of that name: the class's own, the module's, or one that is imported."""
    own = name.removeprefix("cls.").removeprefix("self.")
    for candidate in (f"{scope.owner}.{own}" if scope.owner else own, name):
        node = scope.module.main(candidate)
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            return evaluate(node.value, scope.deeper())
    return _imported(name, scope)


def _imported(name: str, scope: Scope) -> Any:
    first, _, rest = name.partition(".")
    for node in ast.walk(scope.module.tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                if (alias.asname or alias.name) == first:
                    return _in_module(node.module, alias.name, rest, name, scope)
        if isinstance(node, ast.Import) and rest:
            for alias in node.names:
                if alias.asname == first and alias.name == "vllm.envs":
                    return environment_default(rest, scope.open)[0]
    return name


def _in_module(module: str, imported: str, rest: str, name: str, scope: Scope) -> Any:
    if module == "vllm" and imported == "envs" and rest:
        return environment_default(rest, scope.open)[0]
    folder = module.replace(".", "/")
    wanted = f"{imported}.{rest}" if rest else imported
    for path in (f"{folder}.py", f"{folder}/__init__.py"):
        opened = scope.open(path) if folder.startswith("vllm") else None
        if opened is not None:
            there = Scope(opened, "", scope.open, scope.deeper().depth)
            return _name(wanted, there) if opened.main(wanted) else name
    return name
