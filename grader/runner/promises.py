"""What a stub says that its functions return, and which call of a story gave something else."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice

from grader.worker import Call, Record
from grader.worker.story import Name

_BUILTINS = {
    kind.__name__: kind
    for kind in (int, float, bool, str, bytes, list, tuple, dict, set, frozenset)
}
_ITEMS_LOOKED_AT = 1000


@dataclass(frozen=True)
class Broken:
    """The call with this number gave no value of the kind that `belongs` there."""

    number: int
    belongs: str


class Promises:
    """The annotations of a stub.

    >>> promises = Promises("def hits(blocks) -> list[int]: ...")
    >>> promises.broken_by([Call("hits([3])", [3]), Call("hits([4])", None)])
    Broken(number=1, belongs='a list[int]')
    """

    def __init__(self, stub: str) -> None:
        self._returns: dict[str, list[ast.expr]] = {}
        self._properties: set[str] = set()
        self._classes: set[str] = set()
        for node in ast.walk(ast.parse(stub)):
            if isinstance(node, ast.ClassDef):
                self._classes.add(node.name)
            elif isinstance(node, ast.FunctionDef):
                if node.returns is not None:
                    self._returns.setdefault(node.name, []).append(node.returns)
                if any(ast.unparse(one) == "property" for one in node.decorator_list):
                    self._properties.add(node.name)

    def broken_by(self, calls: Sequence[Call]) -> Broken | None:
        """The last of the suite's own calls that returned what its annotation does not say."""
        for number in reversed(range(len(calls))):
            call = calls[number]
            if call.error is None and call.depth == 0 and not call.assigned:
                belongs = self._missing_in(call)
                if belongs is not None:
                    return Broken(number, belongs)
        return None

    def _missing_in(self, call: Call) -> str | None:
        callee, called, _ = call.text.partition("(")
        name = callee.rpartition(".")[2]
        if name in self._classes:
            fits = bool(called) and self._fits(ast.Name(name), call.result)
            return None if fits else _with_article(name if called else "class")
        kinds = self._returns.get(name, [])
        if not called and kinds and name not in self._properties:
            return "a method"
        if not kinds or any(self._fits(kind, call.result) for kind in kinds):
            return None
        return _with_article(" | ".join(dict.fromkeys(map(ast.unparse, kinds))))

    def _fits(self, kind: ast.expr, value: object) -> bool:
        """Whether a value is of an annotation's kind; what is not understood fits anything."""
        match kind:
            case ast.Constant(value=None):
                return value is None
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return self._fits(left, value) or self._fits(right, value)
            case ast.Name(id=name) if name in _BUILTINS:
                return type(value) is _BUILTINS[name] or (name == "float" and type(value) is int)
            case ast.Name(id=name) if name in self._classes:
                return isinstance(value, Name | Record)
            case ast.Subscript(value=ast.Name(id=name), slice=inside) if name in _BUILTINS:
                return type(value) is _BUILTINS[name] and all(
                    self._fits(one, item) for one, item in _items(value, inside)
                )
        return True


@cache
def promises_of(stub: str) -> Promises:
    """The promises of a stub, read once."""
    return Promises(stub)


def _items(value: object, inside: ast.expr) -> Iterator[tuple[ast.expr, object]]:
    """What a container holds, or the first of it, each with the annotation it falls under."""
    kinds = inside.elts if isinstance(inside, ast.Tuple) else [inside]
    if isinstance(value, dict) and len(kinds) == 2:
        for key, item in islice(value.items(), _ITEMS_LOOKED_AT):
            yield kinds[0], key
            yield kinds[1], item
    elif isinstance(value, tuple) and not isinstance(kinds[-1], ast.Constant):
        # one too many or too few fits nothing
        if len(kinds) != len(value):
            yield ast.Constant(None), value
        yield from zip(kinds, value, strict=False)
    elif isinstance(value, list | set | frozenset | tuple):
        for item in islice(value, _ITEMS_LOOKED_AT):
            yield kinds[0], item


def _with_article(kind: str) -> str:
    if kind == "None":
        return kind
    return f"{'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}"
