"""The submission's objects that the trusted side knows, by number, and the parts it handed in."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from enum import Enum
from types import (
    BuiltinFunctionType,
    FunctionType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any

from grader.worker.values import OBJECT, PART, RECORD, BadValue, Decoder, Encoder, opaque

Ask = Callable[[int, str, Any, dict[str, Any]], Any]
_FUNCTIONS = (FunctionType, MethodType, BuiltinFunctionType, type)


class PartProxy:
    """Stands for a part of the trusted side. Its class is made by `_proxy_class`."""

    _number: int

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"cannot set {name!r} of a {type(self).__name__} that was handed in")


class Objects:
    """Numbers for objects; 0 is nobody's. The modules keep theirs, the rest lasts one story."""

    def __init__(self, ask: Ask, max_depth: int) -> None:
        self.ask = ask
        self.encoder = ChildEncoder(self, max_depth)
        self.decoder = ChildDecoder(self, max_depth)
        self.modules: dict[str, ModuleType] = {}
        self._objects: dict[int, Any] = {}
        self._numbers: dict[int, int] = {}
        self._last = 0
        self._proxies: dict[int, PartProxy] = {}

    def __getitem__(self, number: int) -> Any:
        return self._objects[number]

    def files(self) -> set[str]:
        """The files of the submission."""
        return {str(module.__file__) for module in self.modules.values()}

    def add_module(self, module: ModuleType) -> int:
        self.modules[module.__name__] = module
        return self.number(module)

    def number(self, value: object) -> int:
        """The object's number. It is kept alive, so that its number stays its own."""
        number = self._numbers.get(id(value))
        if number is None:
            self._last = number = self._last + 1
            self._numbers[id(value)] = number
            self._objects[number] = value
        return number

    def forget(self) -> None:
        """Drop every object but the modules and classes. Numbers are not used again."""
        kept = {n: obj for n, obj in self._objects.items() if isinstance(obj, ModuleType | type)}
        self._objects = kept
        self._numbers = {id(value): number for number, value in kept.items()}
        self._proxies.clear()

    def proxy(self, number: int, type_name: str, methods: list[str], names: list[str]) -> PartProxy:
        """The proxy for a part: the same one for the same part."""
        if number not in self._proxies:
            proxy = _proxy_class(type_name, methods, names, self.ask)()
            object.__setattr__(proxy, "_number", number)
            self._proxies[number] = proxy
        return self._proxies[number]

    def callable_kind(self, value: object) -> str | None:
        """`class`, `method` or `function`; None for data, and for objects that are more."""
        if isinstance(value, type):
            return "class"
        if isinstance(value, MethodType):
            return "method"
        if isinstance(value, PartProxy) or type(value).__module__ in self.modules:
            return None
        return "function" if callable(value) else None

    def named(self, type_name: str) -> type | None:
        """The submission's own class of that name, if there is one."""
        for module in reversed(self.modules.values()):
            found = vars(module).get(type_name)
            if isinstance(found, type):
                return found
        return None


def _proxy_class(type_name: str, methods: list[str], names: list[str], ask: Ask) -> type[PartProxy]:
    def method(name: str) -> Any:
        def call(self: PartProxy, *args: Any, **kwargs: Any) -> Any:
            return ask(self._number, name, args, kwargs)

        call.__name__ = name
        if name == "__iter__":  # what was iterated over comes as a list, which is no iterator
            return lambda self: iter(call(self))
        return call

    def attribute(name: str) -> property:
        return property(lambda self: ask(self._number, name, None, {}))

    members: dict[str, Any] = {name: method(name) for name in methods}
    members |= {name: attribute(name) for name in names}
    return type(type_name, (PartProxy,), members)


class ChildEncoder(Encoder):
    """Trees of the submission's values."""

    def __init__(self, objects: Objects, max_depth: int) -> None:
        super().__init__(max_depth)
        self._objects = objects

    def encode_object(self, value: Any) -> Any:
        kind = type(value)
        if issubclass(kind, PartProxy):
            return [PART, value._number]
        if isinstance(value, _FUNCTIONS):
            return self.instance(value)
        if kind.__module__ not in self._objects.modules:
            return opaque(value)
        fields = _field_names(kind)
        return self.instance(value) if fields is None else self._fields(value, fields)

    def record(self, value: Any) -> Any:
        """The tree of a dataclass, named tuple or enum member as its fields."""
        fields = _field_names(type(value))
        if fields is None:
            raise TypeError(f"{type(value).__name__} is not a dataclass")
        return self._fields(value, fields)

    def instance(self, value: Any) -> Any:
        """The tree of an object that stays here and is known by its number."""
        kind = type(value)
        if issubclass(kind, Enum):
            return self.encode(value)
        number = self._objects.number
        return [OBJECT, number(value), kind.__name__, number(kind)]

    def _fields(self, value: Any, names: list[str]) -> Any:
        kind = type(value)
        number = 0 if issubclass(kind, Enum) else self._objects.number(value)
        fields = {name: self.encode(getattr(value, name)) for name in names}
        return [RECORD, number, kind.__name__, fields, self._derived(value)]

    def _derived(self, value: Any) -> dict[str, Any]:
        derived = {}
        for base in type(value).__mro__:
            for name, member in vars(base).items():
                if isinstance(member, property) and name[0] != "_" and name not in derived:
                    try:
                        derived[name] = self.encode(getattr(value, name))
                    except Exception:  # it is for the one who reads it to find out
                        continue
        return derived


def _field_names(kind: type[Any]) -> list[str] | None:
    if issubclass(kind, Enum):
        return ["name", "value"]
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind)]
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return list(kind._fields)
    return None


class ChildDecoder(Decoder):
    """The submission's values of trees that the trusted side made."""

    def __init__(self, objects: Objects, max_depth: int) -> None:
        super().__init__(max_depth)
        self._objects = objects

    def decode_special(self, tag: int, tree: list[Any]) -> Any:
        if tag == OBJECT:
            return self._objects[tree[1]]
        if tag == PART:
            return self._objects.proxy(*tree[1:])
        if tag != RECORD:
            raise BadValue(f"a value with the unknown tag {tag}")
        _, number, type_name, fields = tree
        if number:
            return self._objects[number]
        return self._build(type_name, {name: self.decode(item) for name, item in fields.items()})

    def _build(self, type_name: str, fields: dict[str, Any]) -> Any:
        kind: Any = self._objects.named(type_name)
        if kind is None:
            return SimpleNamespace(**fields)
        if issubclass(kind, Enum):
            return kind(fields["value"])
        if not dataclasses.is_dataclass(kind):
            return kind(**fields)
        late = {field.name for field in dataclasses.fields(kind) if not field.init}
        build: Any = kind
        value = build(**{name: item for name, item in fields.items() if name not in late})
        for name in late & fields.keys():
            object.__setattr__(value, name, fields[name])
        return value
