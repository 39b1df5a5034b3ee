"""Bytes for messages, and the names of the two ends."""

from typing import Any, TypeVar

import msgspec

from reference.wire import EngineCoreRequestType, from_wire, to_wire

Struct = TypeVar("Struct")

#: The engine core's name on the front's ROUTER: its rank in two bytes, the lower one first.
ENGINE_IDENTITY = (0).to_bytes(2, "little")
#: Milliseconds that a socket may take to send its last messages when it is closed.
LINGER = 4000


def pack(message: Any) -> bytes:
    """A message's bytes.

    >>> unpack(pack([1, "a"]))
    [1, 'a']
    """
    return msgspec.msgpack.encode(to_wire(message))


def unpack(data: bytes) -> Any:
    """What was packed, as builtins."""
    return msgspec.msgpack.decode(data, strict=False)


def unpack_struct(struct: type[Struct], data: bytes) -> Struct:
    """What was packed, as the message that it was."""
    return from_wire(struct, unpack(data))


def request_frames(request_type: EngineCoreRequestType, payload: Any) -> list[bytes]:
    """What the front sends to the core."""
    return [ENGINE_IDENTITY, request_type.value, pack(payload)]
