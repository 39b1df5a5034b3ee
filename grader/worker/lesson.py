"""What a suite holds of a submission: proxies that turn what is done to them into requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from grader.worker import wire
from grader.worker.codec import Reference, Referring
from grader.worker.conversation import Conversation


class Lesson:
    """A loaded submission: its classes, functions and constants are attributes.

    A class makes a Handle, a function returns plain data, a constant is its value. A name that the
    module does not define raises LoadFailed with the kind `missing_name`.
    """

    def __init__(self, conversation: Conversation, name: str, path: str, source: bytes) -> None:
        self._conversation = conversation
        self._name = name
        self._path = path
        self._source = source
        self._number = 0
        self._members: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        _refuse_private(name)
        if name not in self._members:
            found = self._look_up(name)
            if not isinstance(found, RemoteFunction):
                return found
            self._members[name] = found
        return self._members[name]

    def __repr__(self) -> str:
        return f"<the submission {self._path}>"

    def _load(self) -> None:
        """Load it, for the first time or into a new process."""
        conversation = self._conversation
        request = wire.Load(conversation.next_number(), self._name, self._path, self._source)
        reply = conversation.ask(request, wire.Returned, lambda: f"import {self._name}", told=False)
        self._number = conversation.number_in(reply)

    def _look_up(self, name: str) -> Any:
        conversation = self._conversation
        request = wire.Get(conversation.next_number(), self._number, name)
        reply = conversation.ask(request, wire.ATTRIBUTE, lambda: name)
        if isinstance(reply, wire.Returned):
            return conversation.decode(reply.value, lambda: name)
        return (RemoteClass if reply.kind == "class" else RemoteFunction)(self, name)


class RemoteFunction:
    """A function of the submission, or anything else in it that can be called by its name."""

    def __init__(self, lesson: Lesson, name: str) -> None:
        self._lesson = lesson
        self._name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        lesson = self._lesson
        return lesson._conversation.call(lesson._number, self._name, self, args, kwargs)

    def __repr__(self) -> str:
        return self._name


class RemoteClass(RemoteFunction):
    """A class of the submission: makes Handles; its own constants and methods are attributes."""

    def __getattr__(self, name: str) -> Any:
        _refuse_private(name)
        return getattr(self._lesson, f"{self._name}.{name}")

    @property
    def __name__(self) -> str:
        return self._name.rpartition(".")[2]


class Handle(Referring):
    """An object of the submission, which stays in the worker.

    Its methods can be called and its attributes read, but not set; two handles are equal when they
    stand for the same object.
    """

    __slots__ = ("_conversation",)
    _conversation: Conversation

    def __init__(self, conversation: Conversation, reference: Reference) -> None:
        object.__setattr__(self, "_conversation", conversation)
        object.__setattr__(self, "_reference", reference)

    def __getattr__(self, name: str) -> Any:
        _refuse_private(name)
        conversation, reference = self._conversation, self._reference
        key = (reference.class_number, name)
        if key in conversation.methods:
            return Method(self, name)
        number = conversation.number_of(reference)
        request = wire.Get(conversation.next_number(), number, name)

        def wording() -> str:
            return f"{self!r}.{name}"

        reply = conversation.ask(request, wire.ATTRIBUTE, wording)
        if isinstance(reply, wire.Returned):
            return conversation.decode(reply.value, wording)
        if reply.kind == "method":
            conversation.methods.add(key)
        return Method(self, name)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"a suite cannot set {name!r} of a {self._reference.type_name}: "
            "it reads and changes state through methods alone"
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        conversation = self._conversation
        number = conversation.number_of(self._reference)
        return conversation.call(number, "", self, args, kwargs)

    def __len__(self) -> int:
        length = Method(self, "__len__")()
        if type(length) is not int:
            raise TypeError(f"__len__ returned {length!r}, which is not an int")
        return length

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, key: Any) -> Any:
        return Method(self, "__getitem__")(key)

    def __contains__(self, item: Any) -> bool:
        return Method(self, "__contains__")(item) is True

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(f"a {self._reference.type_name} in a worker cannot be iterated over")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Handle):
            return NotImplemented
        mine, other_one = self._reference, other._reference
        return mine.story is other_one.story and mine.number == other_one.number

    def __hash__(self) -> int:
        return hash(self._reference.number)

    def __repr__(self) -> str:
        return self._conversation.name_of(self._reference)


class Method:
    """A method of an object of the submission."""

    __slots__ = ("_handle", "_name")

    def __init__(self, handle: Handle, name: str) -> None:
        self._handle = handle
        self._name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        handle = self._handle
        conversation = handle._conversation
        number = conversation.number_of(handle._reference)
        return conversation.call(number, self._name, self, args, kwargs)

    def __repr__(self) -> str:
        return f"{self._handle!r}.{self._name}"


def as_record(handle: Handle) -> Any:
    """The Record of a dataclass object that a suite made or got: its fields as of now."""
    conversation, reference = handle._conversation, handle._reference
    request = wire.Snapshot(conversation.next_number(), conversation.number_of(reference))

    def wording() -> str:
        return f"the fields of {handle!r}"

    reply = conversation.ask(request, wire.Returned, wording, told=False)
    return conversation.decode(reply.value, wording)


def _refuse_private(name: str) -> None:
    if name.startswith("_"):
        raise AttributeError(f"{name!r} is private: a suite uses what the stub makes public")
