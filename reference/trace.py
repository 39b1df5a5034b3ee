"""What an engine decided, step by step, as plain data that can be kept, compared and replayed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

#: The blocks of a request: one list, or one for each group where layers are grouped.
BlockIds = list[int] | list[list[int]]


def by_group(block_ids: BlockIds) -> list[list[int]]:
    """A list for each group, be it a single one, for the caller to keep.

    >>> by_group([1, 2]), by_group([[1, 2], [0, 3]])
    ([[1, 2]], [[1, 2], [0, 3]])
    """
    groups = [list(each) for each in block_ids if isinstance(each, list)]
    return groups or [[each for each in block_ids if isinstance(each, int)]]


class TraceError(ValueError):
    """Data that is no trace: the field, and what is wrong with it."""

    def __init__(self, field_name: str, problem: str) -> None:
        super().__init__(f"not a trace: {field_name}: {problem}")
        self.field = field_name
        self.problem = problem


@dataclass(frozen=True, slots=True, eq=False)
class StepRecord:
    """One step of an engine. Ids are request ids, blocks are block ids.

    Attributes:
        step: its number, from 0.
        num_scheduled_tokens: tokens of each scheduled request, in schedule order.
        num_computed_tokens: tokens computed before the step, of each scheduled request.
        new_request_ids: admitted for the first time, in admission order.
        resumed_request_ids: admitted again after a preemption, in admission order.
        block_ids: the whole block table of each admitted request; where layers are grouped, a
            table for each group. In ``new_block_ids`` likewise.
        new_block_ids: blocks just given to requests that were running; none, no entry.
        num_cached_tokens: prefix hit of each admitted request, in tokens.
        preempted_request_ids: sorted.
        finished_request_ids: handed out by this step's ``schedule``, sorted.
        scheduled_spec_decode_tokens: drafts among the scheduled tokens, -1 for one that the
            scheduler does not know; none, no entry.
        sampled_token_ids: tokens appended by this step's update; none, no entry.
        finished: reason and stop reason of each request that this step's update ended.
        running, waiting: the queues after the update; blocked requests come first in ``waiting``.
        num_free_blocks: after the update.
        free_block_ids: the whole free list in order, when it was asked for.
        kv_events: what the prefix cache gained and lost since the step before, oldest first, as
            ``reference.kv_events`` says it; nothing where events are off.
        prefix_cache_queries, prefix_cache_hits: tokens looked up and found by this step's
            admissions; ``preempted_queries`` and ``preempted_hits`` those of resumed requests.

    Under async scheduling the update of a step comes after the next step was scheduled, and what
    is said of the time after the update holds for that moment.

    Two records are equal when all fields are, the order of ``num_scheduled_tokens`` included.
    """

    step: int
    num_scheduled_tokens: dict[str, int] = field(default_factory=dict)
    num_computed_tokens: dict[str, int] = field(default_factory=dict)
    new_request_ids: list[str] = field(default_factory=list)
    resumed_request_ids: list[str] = field(default_factory=list)
    block_ids: dict[str, BlockIds] = field(default_factory=dict)
    new_block_ids: dict[str, BlockIds] = field(default_factory=dict)
    num_cached_tokens: dict[str, int] = field(default_factory=dict)
    preempted_request_ids: list[str] = field(default_factory=list)
    finished_request_ids: list[str] = field(default_factory=list)
    sampled_token_ids: dict[str, list[int]] = field(default_factory=dict)
    finished: dict[str, list[str | int | None]] = field(default_factory=dict)
    running: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    num_free_blocks: int = 0
    free_block_ids: list[int] | None = None
    prefix_cache_queries: int = 0
    prefix_cache_hits: int = 0
    preempted_queries: int = 0
    preempted_hits: int = 0
    scheduled_spec_decode_tokens: dict[str, list[int]] = field(default_factory=dict)
    kv_events: list[dict[str, Any]] = field(default_factory=list)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StepRecord):
            return NotImplemented
        return not self.differing_fields(other)

    def __hash__(self) -> int:
        return hash(self.step)

    def differing_fields(self, other: "StepRecord") -> list[str]:
        """Names of the fields in which two records differ, in the order of the class.

        >>> StepRecord(0, {"a": 1, "b": 1}).differing_fields(StepRecord(0, {"b": 1, "a": 1}))
        ['num_scheduled_tokens']
        """
        names = [f.name for f in fields(self) if getattr(self, f.name) != getattr(other, f.name)]
        order = list(self.num_scheduled_tokens)
        if "num_scheduled_tokens" not in names and order != list(other.num_scheduled_tokens):
            names.insert(0, "num_scheduled_tokens")
        return names

    def to_dict(self) -> dict[str, Any]:
        """The record as plain data; what is empty, zero or None is left out, ``step`` excepted.

        >>> StepRecord(0, {"a": 4}).to_dict()
        {'step': 0, 'num_scheduled_tokens': {'a': 4}}
        """
        data = {f.name: getattr(self, f.name) for f in fields(self)}
        # An empty free list is news, one that nobody asked for is not.
        return {
            name: value
            for name, value in data.items()
            if value or name == "step" or (name == "free_block_ids" and value is not None)
        }

    @classmethod
    def from_dict(cls, data: object) -> "StepRecord":
        """The record that ``to_dict`` gave; raises TraceError when it is none."""
        record: StepRecord = _build(cls, data, "steps", {})
        return record


@dataclass(frozen=True, slots=True)
class Trace:
    """A whole run: its steps, and what each request put out.

    ``complete`` is False when ``max_steps`` came before the end.
    """

    workload_name: str
    steps: list[StepRecord] = field(default_factory=list)
    outputs: dict[str, list[int]] = field(default_factory=dict)
    complete: bool = True

    def to_dict(self) -> dict[str, Any]:
        """The trace as plain data, ready for JSON.

        >>> Trace.from_dict(Trace("w", [StepRecord(0)]).to_dict()) == Trace("w", [StepRecord(0)])
        True
        """
        return {
            "workload_name": self.workload_name,
            "complete": self.complete,
            "outputs": self.outputs,
            "steps": [step.to_dict() for step in self.steps],
        }

    @classmethod
    def from_dict(cls, data: object) -> "Trace":
        """The trace that ``to_dict`` gave; raises TraceError when it is none."""
        trace: Trace = _build(cls, data, "trace", {"steps": _steps})
        return trace


def _steps(value: object) -> list[StepRecord]:
    if not isinstance(value, list):
        raise TraceError("steps", "not a list")
    return [StepRecord.from_dict(step) for step in value]


def _build(
    cls: Any, data: object, where: str, convert: Mapping[str, Callable[[object], object]]
) -> Any:
    """An object of the dataclass ``cls`` from its fields by name."""
    if not isinstance(data, dict):
        raise TraceError(where, "not a mapping")
    known = {f.name for f in fields(cls)}
    for name in data:
        if name not in known:
            raise TraceError(f"{where}.{name}", "unknown")
    values = {
        name: convert[name](value) if name in convert else value for name, value in data.items()
    }
    try:
        return cls(**values)
    except TypeError:
        raise TraceError(where, "a required field is missing") from None
