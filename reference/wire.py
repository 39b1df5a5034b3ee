"""What goes from process to process, as plain data: messages to the engine core, and back.

A message's fields travel by their place, parameters by their name and only where they differ from
the default. How bytes are made of that, and how they are sent, is not the engine's concern.
"""

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from reference.sampling_params import RepetitionDetectionParams, SamplingParams
from reference.workload import MultiModalFeature

ENGINE_CORE_DEAD = b"ENGINE_CORE_DEAD"
#: Travel by name.
BY_NAME = (SamplingParams, RepetitionDetectionParams)

Struct = TypeVar("Struct")


class EngineCoreRequestType(Enum):
    """What a message to the engine core is; the last two never leave its process."""

    ADD = b"\x00"
    ABORT = b"\x01"
    START_DP_WAVE = b"\x02"
    UTILITY = b"\x03"
    EXECUTOR_FAILED = b"\x04"
    WAKEUP = b"\x05"


@dataclass(slots=True)
class EngineCoreRequest:
    """A request as the engine core gets it.

    ``external_req_id`` is the client's name for it; ``request_id`` is one that no other has.
    """

    request_id: str
    prompt_token_ids: list[int]
    sampling_params: SamplingParams
    mm_features: tuple[MultiModalFeature, ...] = ()
    arrival_time: float = 0.0
    lora_name: str | None = None
    cache_salt: str | None = None
    data_parallel_rank: int | None = None
    client_index: int = 0
    priority: int = 0
    external_req_id: str | None = None


def to_wire(value: Any) -> Any:
    """A message as builtins alone.

    >>> to_wire(EngineCoreRequest("a", [1, 2], SamplingParams(max_tokens=4)))
    ['a', [1, 2], {'max_tokens': 4}, [], 0.0, None, None, None, 0, 0, None]
    """
    if isinstance(value, BY_NAME):
        changed = ((f.name, getattr(value, f.name), f) for f in fields(value))
        return {name: to_wire(each) for name, each, f in changed if each != _default(f)}
    if is_dataclass(value):
        return [to_wire(getattr(value, f.name)) for f in fields(value)]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (list, tuple)):
        return [to_wire(each) for each in value]
    if isinstance(value, (set, frozenset)):
        return sorted(to_wire(each) for each in value)
    if isinstance(value, Mapping):
        return {key: to_wire(each) for key, each in value.items()}
    return value


def from_wire(struct: type[Struct], data: Any) -> Struct:
    """The message that was made into ``data``; fields missing at the end have their defaults.

    Raises:
        TypeError: fields are missing that have none.

    >>> from_wire(EngineCoreRequest, ["a", [1, 2], {"max_tokens": 4}]).sampling_params.max_tokens
    4
    """
    hints = get_type_hints(struct)
    if isinstance(data, Mapping):
        return struct(**{name: _revive(hints[name], each) for name, each in data.items()})
    known = fields(struct)  # type: ignore[arg-type]  # Struct stands for dataclasses alone.
    return struct(*(_revive(hints[f.name], each) for f, each in zip(known, data, strict=False)))


def _default(field: Field[Any]) -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def _revive(hint: Any, value: Any) -> Any:
    """What the wire has made builtin, in the form that the field says."""
    if value is None or hint is Any:
        return value
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        kinds = [each for each in arguments if each is not NoneType]
        return _revive(kinds[0], value) if len(kinds) == 1 else value
    if origin is Literal:
        return value
    if origin in (list, tuple, set, frozenset):
        return origin(_revive(arguments[0], each) for each in value)
    if origin is dict:
        return {_revive(arguments[0], k): _revive(arguments[1], v) for k, v in value.items()}
    if is_dataclass(hint):
        return from_wire(hint, value)  # type: ignore[arg-type]  # A hint is a type here.
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(value)
    return value
