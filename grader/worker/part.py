"""A trusted object that is handed to a submission."""

from __future__ import annotations

from typing import Any


class Part:
    """Lets a submission use the named `methods` and read the named `attributes` of `obj`.

    The submission gets a proxy; its calls come back to `obj` with arguments that must be taken as
    untrusted. Builtin exceptions reach the submission, all others end the call and the check.
    Where no worker is in between, the part itself does what the proxy would.

    >>> part = Part([3, 4], methods=("index",))
    >>> part.index(4)
    1
    >>> part.append(5)
    Traceback (most recent call last):
    AttributeError: the list that was handed in has no 'append'; it has index
    """

    def __init__(
        self, obj: Any, methods: tuple[str, ...] = (), attributes: tuple[str, ...] = ()
    ) -> None:
        self._obj = obj
        self._methods = methods
        self._attributes = attributes

    def __getattr__(self, name: str) -> Any:
        if name not in self._methods and name not in self._attributes:
            known = ", ".join(self._methods + self._attributes)
            raise AttributeError(
                f"the {type_name_of(self)} that was handed in has no {name!r}; it has {known}"
            )
        return getattr(self._obj, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__getattr__("__call__")(*args, **kwargs)

    def __len__(self) -> int:
        length: int = self.__getattr__("__len__")()
        return length

    def __iter__(self) -> Any:
        return self.__getattr__("__iter__")()

    def __repr__(self) -> str:
        return f"Part({type_name_of(self)})"

    def __bool__(self) -> bool:
        return True


def object_of(part: Part) -> Any:
    """The object that the part lets the submission use."""
    return part._obj


def type_name_of(part: Part) -> str:
    """The name of the object's class."""
    return type(part._obj).__name__


def use(part: Part, name: str, args: list[Any] | None, kwargs: dict[str, Any]) -> Any:
    """What the submission asked of the part. AttributeError when it may not."""
    if args is None:
        if name not in part._attributes:
            raise AttributeError(f"{type_name_of(part)} has no attribute {name!r} to read")
        return getattr(part._obj, name)
    if name not in part._methods:
        raise AttributeError(f"{type_name_of(part)} has no method {name!r} to call")
    return getattr(part._obj, name)(*args, **kwargs)


def described(part: Part) -> list[Any]:
    """What the worker needs to make the proxy: type name, methods, attributes."""
    return [type_name_of(part), list(part._methods), list(part._attributes)]
