"""Messages between the trusted side and the worker, and how one is framed.

A frame is its length (4 bytes, little endian) and that many bytes of msgpack. A value inside a
message is the tree that `grader.worker.values` makes of it. Every request is numbered, and its
reply bears the same number. While a request is open, the worker may ask something back of a part
(`Asked`), and the trusted side may send a further request before it answers that.
"""

from __future__ import annotations

import struct
from typing import Any, TypeAlias

import msgspec

Tree: TypeAlias = Any
HEADER = struct.Struct("<I")


class Message(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """The base of all messages."""


class Load(Message, tag=1):
    """Load this source as the module `name`; the reply is the number of the module's object."""

    seq: int
    name: str
    path: str
    source: bytes


class Get(Message, tag=2):
    """Read an attribute, by a dotted name from an object."""

    seq: int
    target: int
    name: str


class Call(Message, tag=3):
    """Call an attribute, by a dotted name from an object."""

    seq: int
    target: int
    name: str
    args: list[Tree]
    kwargs: dict[str, Tree]


class Snapshot(Message, tag=4):
    """Read the fields of an object."""

    seq: int
    target: int


class Example(Message, tag=5):
    """Run one example of a docstring in the namespace `key` of a module."""

    seq: int
    target: int
    key: str
    source: str


class Forget(Message, tag=6):
    """A new story begins: no object but the modules will be asked for again."""

    seq: int


class Answered(Message, tag=7):
    """What a part's method returned."""

    value: Tree


class Refused(Message, tag=8):
    """A part's method raised a builtin exception."""

    type_name: str
    message: str


class Returned(Message, tag=11):
    """The result of a request."""

    seq: int
    value: Tree


class Member(Message, tag=12):
    """The attribute that was asked for is callable: kind is `class`, `function` or `method`."""

    seq: int
    kind: str


class Raised(Message, tag=13):
    """The submission raised."""

    seq: int
    type_name: str
    bases: list[str]
    message: str
    line: int | None
    chain: list[str]


class NotLoaded(Message, tag=14):
    """The module, or a name in it, could not be had."""

    seq: int
    kind: str
    message: str
    line: int | None
    type_name: str | None
    column: int | None = None


class Asked(Message, tag=15):
    """The submission uses a part: calls a method, or reads an attribute (`args` is None)."""

    part: int
    name: str
    args: list[Tree] | None
    kwargs: dict[str, Tree]


class Fork(Message, tag=21):
    """Fork a session; its descriptors (in, out, printed) come with the message."""

    memory: int | None
    file_size: int | None
    open_files: int | None
    cpu_seconds: int | None
    processes: int | None
    frame: int
    depth: int


class End(Message, tag=22):
    """Kill the session and everything it left behind.

    With `patient`, it has closed its pipes and is given a moment to end of itself.
    """

    patient: bool


class Preload(Message, tag=23):
    """Import these modules, so that sessions find them imported."""

    names: list[str]


class Ready(Message, tag=24):
    """A command was carried out; `missing` are modules that could not be imported."""

    missing: list[str]


class Ended(Message, tag=25):
    """How the session ended; a negative code is a signal."""

    code: int | None


Request: TypeAlias = Load | Get | Call | Snapshot | Example | Forget
Reply: TypeAlias = Returned | Member | Raised | NotLoaded
Command: TypeAlias = Fork | End | Preload

ATTRIBUTE: tuple[type[Member | Returned], ...] = (Member, Returned)

encode = msgspec.msgpack.Encoder().encode
decode_to_worker = msgspec.msgpack.Decoder(
    Load | Get | Call | Snapshot | Example | Forget | Answered | Refused
).decode
decode_from_worker = msgspec.msgpack.Decoder(Returned | Member | Raised | NotLoaded | Asked).decode
decode_command = msgspec.msgpack.Decoder(Fork | End | Preload).decode
decode_status = msgspec.msgpack.Decoder(Ready | Ended).decode


def framed(message: Message) -> bytes:
    """A message as the bytes to send."""
    body = encode(message)
    return HEADER.pack(len(body)) + body
