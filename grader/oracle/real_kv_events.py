"""What vLLM's scheduler publishes of its prefix cache, as plain data.

Runs in the oracle's environment alone.
"""

from typing import Any

from vllm.distributed.kv_events import EventBatch

#: What depends on the process or the workload's file, or is always empty here.
_LEFT_OUT = ("lora_id", "locality", "ownership", "session_id")


class EventCollector:
    """Stands in for the scheduler's publisher: keeps its batches, one a step at most."""

    def __init__(self) -> None:
        self._batches: list[EventBatch] = []

    def publish(self, events: EventBatch) -> None:
        self._batches.append(events)

    def shutdown(self) -> None:
        pass

    def take(self) -> list[dict[str, Any]]:
        """The events of the batch since the last call, in the form of `reference.kv_events`.

        Raises ValueError where that were several batches.
        """
        batches, self._batches = self._batches, []
        if len(batches) > 1:
            raise ValueError(f"{len(batches)} batches of events in one step")
        return [event_as_data(event) for batch in batches for event in batch.events]


def event_as_data(event: Any) -> dict[str, Any]:
    """One event with its class's name; tuples become lists."""
    names = [name for name in event.__struct_fields__ if name not in _LEFT_OUT]
    return {"type": type(event).__name__} | {name: _plain(getattr(event, name)) for name in names}


def _plain(value: Any) -> Any:
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value
