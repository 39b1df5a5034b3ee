"""Records what the real engine decides on a workload, as data that lies beside the workload.

A recorded trace is replayed on the reference engine without vLLM.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grader.files import write_atomically
from grader.oracle.environment import VLLM_VERSION
from grader.workloads import read_workload
from reference.trace import Trace, TraceError

#: The release and the class that recorded traces come from.
PIN = f"vllm {VLLM_VERSION}, vllm.v1.core.sched.scheduler.Scheduler"


@dataclass(frozen=True)
class RecordedTrace:
    """A trace of the real engine, the release it is of, and the workload it is for."""

    pin: str
    workload_sha256: str
    trace: Trace


def trace_path(workload: Path) -> Path:
    """Where the recorded trace of a workload lies.

    >>> trace_path(Path("traces/tight.yaml")).name
    'tight.trace.json'
    """
    return workload.with_suffix(".trace.json")


def workload_sha256(workload: Path) -> str:
    """The hash of a workload file's bytes."""
    return hashlib.sha256(workload.read_bytes()).hexdigest()


def record(workload: Path, real: Callable[[dict[str, Any]], Trace]) -> Path:
    """Run a workload file on the real engine and write the trace beside it; returns its path.

    Raises reference.workload.WorkloadError when the file holds no valid workload.
    """
    parsed = read_workload(workload)
    trace = replace(real(parsed.to_dict()), workload_name=parsed.name)
    path = trace_path(workload)
    write_atomically(path, dump(RecordedTrace(PIN, workload_sha256(workload), trace)))
    return path


def dump(recorded: RecordedTrace) -> str:
    """The recorded trace as JSON, one step a line, so that two of them compare well."""
    trace = recorded.trace.to_dict()
    steps = trace.pop("steps")
    head = {"pin": recorded.pin, "workload_sha256": recorded.workload_sha256} | trace
    lines = [f"{_json(key)}: {_json(value)}" for key, value in head.items()]
    body = ",\n".join(f"  {_json(step)}" for step in steps)
    return "{\n" + ",\n".join(lines) + f',\n"steps": [\n{body}\n]\n}}\n'


def load(path: Path) -> RecordedTrace:
    """Read a recorded trace; raises `reference.trace.TraceError` when it is none."""
    try:
        data = json.loads(path.read_text())
        pin, sha256 = data.pop("pin"), data.pop("workload_sha256")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TraceError(str(path), f"not a recorded trace ({error!r})") from error
    return RecordedTrace(pin, sha256, Trace.from_dict(data))


def _json(value: object) -> str:
    return json.dumps(value, separators=(", ", ": "))
