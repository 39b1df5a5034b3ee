"""Probes: where a fact stands in vLLM's source, and how it is read from there without running it.

A probe names a definition, `at: vllm/config/cache.py#CacheConfig.DEFAULT_BLOCK_SIZE`, and one
way to read a value from it:

- nothing more: the value that the definition is given, a field's default among them; of a class,
  the names of its annotated fields;
- `default: NAME`: the default of that parameter;
- `flag: --NAME`: the default of that argument of a command line;
- `environment: NAME`: what vLLM takes if the variable is not set (`at` may then be left out);
- `match: PATTERN`: what stands at VALUE (see `manifest.patterns`); `if` and `else` take a
  pattern of a test and look behind it alone, and `nth: 2` takes the second that fits.

Then `entry: KEY` picks one entry of a dictionary or list, and `count: true` asks how many
there are.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import Any

from manifest.constants import (
    ENVIRONMENT_FILE,
    ENVIRONMENT_TABLE,
    NotConstant,
    Open,
    Scope,
    environment_default,
    evaluate,
)
from manifest.patterns import branches, matches
from manifest.symbols import key_of
from manifest.syntax import Definition, Module, first_line

KEYS = ("at", "default", "flag", "environment", "match", "if", "else", "nth", "entry", "count")


class ProbeFailed(LookupError):
    """The fact is not where the probe looks. `gone` says that the definition itself is not."""

    def __init__(self, reason: str, gone: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.gone = gone


class BadProbe(ValueError):
    """The probe itself is malformed."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a probe found: a plain value, and the line on which it stands."""

    value: Any
    line: int


@dataclass(frozen=True, slots=True)
class Probe:
    """See the module's docstring. `how` is "value", "default", "flag", "environment" or "match"."""

    file: str
    symbol: str
    how: str = "value"
    what: str = ""
    test: str = ""
    otherwise: bool = False
    entry: str | int | None = None
    count: bool = False
    nth: int = 0

    @property
    def key(self) -> str:
        return key_of(self.file, self.symbol)

    @classmethod
    def of(cls, data: dict[str, Any]) -> Probe:
        """
        >>> Probe.of({"at": "vllm/a.py#f", "default": "n"}).how
        'default'

        Raises:
            BadProbe: an unknown key, no place, or two ways at once.
        """
        unknown = set(data) - set(KEYS)
        ways = [key for key in ("default", "flag", "environment", "match") if key in data]
        tests = [key for key in ("if", "else") if key in data]
        if unknown or len(ways) > 1 or len(tests) > 1:
            raise BadProbe(f"unknown or contradicting: {', '.join(unknown) or ways or tests}")
        how = ways[0] if ways else "value"
        table = key_of(ENVIRONMENT_FILE, ENVIRONMENT_TABLE)
        at = data.get("at", table if how == "environment" else "")
        file, _, symbol = at.partition("#")
        if not symbol:
            raise BadProbe("`at` must be file#Qualified.name")
        test = data[tests[0]] if tests else ""
        what = data.get(how, "")
        entry, count, nth = data.get("entry"), bool(data.get("count")), data.get("nth", 0)
        return cls(file, symbol, how, what, test, tests == ["else"], entry, count, nth)

    def moved_to(self, file: str, symbol: str) -> Probe:
        """The same question, asked of another definition."""
        return replace(self, file=file, symbol=symbol)

    def read(self, open_file: Open) -> Reading:
        """Read the fact from the release whose modules `open_file` opens.

        Raises:
            ProbeFailed: the place is gone, nothing or several things fit, or what stands there
                is no constant.
        """
        module = open_file(self.file)
        if module is None:
            raise ProbeFailed(f"{self.file} is not there", gone=True)
        node = module.main(self.symbol)
        if node is None:
            raise ProbeFailed(f"{self.key} is not there", gone=True)
        try:
            value, line = self._find(node, Scope(module, _owner(self.symbol, node), open_file))
        except NotConstant as error:
            raise ProbeFailed(f"{self.key}: no constant: {error.expression}") from error
        value = self._picked(value)
        return Reading(value.decode("latin-1") if isinstance(value, bytes) else value, line)

    def _find(self, node: Definition, scope: Scope) -> tuple[Any, int]:
        match self.how:
            case "environment":
                try:
                    return environment_default(self.what, scope.open)
                except LookupError as error:
                    raise ProbeFailed(str(error), gone=True) from error
            case "value":
                if isinstance(node, ast.ClassDef):
                    return _annotated(node), first_line(node)
                if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                    return evaluate(node.value, scope), first_line(node)
                raise ProbeFailed(f"{self.key} is given no value")
            case "default":
                return _one(self.key, [_default(node, self.what, self.key)], scope)
            case "flag":
                pattern = f'_.add_argument("{self.what}", ..., default=VALUE)'
                return _one(self.key, list(matches(pattern, node)), scope)
        return _one(self.key, self._matches(node), scope)

    def _matches(self, node: ast.AST) -> list[ast.expr]:
        inside = list(branches(self.test, node, self.otherwise)) if self.test else [node]
        found = [one for part in inside for one in matches(self.what, part)]
        return found[self.nth - 1 : self.nth] if self.nth else found

    def _picked(self, value: Any) -> Any:
        if self.entry is not None:
            try:
                value = value[self.entry]
            except (LookupError, TypeError) as error:
                raise ProbeFailed(f"{self.key} has no entry {self.entry}") from error
        if self.count:
            if not isinstance(value, list | dict):
                raise ProbeFailed(f"{self.key}: not a list or dictionary: {value!r}")
            return len(value)
        return value


def _one(key: str, found: list[ast.expr], scope: Scope) -> tuple[Any, int]:
    """The value all agree on."""
    if not found:
        raise ProbeFailed(f"{key}: nothing there fits the probe")
    values = [evaluate(one, scope) for one in found]
    if any(value != values[0] for value in values):
        raise ProbeFailed(f"{key}: several things fit: {', '.join(map(repr, values))}")
    return values[0], found[0].lineno


def _annotated(node: ast.ClassDef) -> list[str]:
    fields = [one.target for one in node.body if isinstance(one, ast.AnnAssign)]
    return [one.id for one in fields if isinstance(one, ast.Name)]


def _default(node: Definition, name: str, key: str) -> ast.expr:
    if isinstance(node, ast.ClassDef):
        inits = [one for one in node.body if isinstance(one, ast.FunctionDef)]
        node = next((one for one in inits if one.name == "__init__"), node)
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        raise ProbeFailed(f"{key} takes no arguments")
    places = [*node.args.posonlyargs, *node.args.args]
    first = len(places) - len(node.args.defaults)
    defaults = dict(zip((one.arg for one in places[first:]), node.args.defaults, strict=True))
    for one, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        if default is not None:
            defaults[one.arg] = default
    if name not in defaults:
        raise ProbeFailed(f"{key} has no parameter {name} with a default")
    return defaults[name]


def _owner(symbol: str, node: Definition) -> str:
    """The class whose names an expression inside the symbol may use."""
    return symbol if isinstance(node, ast.ClassDef) else symbol.rpartition(".")[0]


def modules(read: Any) -> Open:
    """Modules by path, each parsed once. `read(path)` gives bytes, or raises `LookupError`.

    >>> modules({"vllm/a.py": b"X = 1"}.__getitem__)("vllm/b.py") is None
    True
    """
    known: dict[str, Module | None] = {}

    def opened(path: str) -> Module | None:
        if path not in known:
            try:
                known[path] = Module.of(read(path))
            except LookupError:
                known[path] = None
        return known[path]

    return opened
