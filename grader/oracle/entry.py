"""The submission that a worker loads in the oracle's environment to run the real engine.

A worker makes nothing of this repository importable, for it runs what learners wrote. This
submission is the course's own and needs the workload, the tape and the trace, so it puts the
repository back.
"""

import sys
from pathlib import Path
from typing import Any

import grader

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))
grader.__path__.append(str(ROOT / "grader"))


def run(data: dict[str, Any]) -> dict[str, Any]:
    """The trace of a workload, both as plain data, the free list with each step.

    Raises reference.workload.WorkloadError when the workload is not valid.
    """
    from grader.oracle.real_engine import run

    return run(data)


def run_front(kind: str, script: dict[str, Any]) -> Any:
    """What a script for one part of the engine's front comes to; both as plain data."""
    from grader.oracle.front.real_front import run_front

    return run_front(kind, script)
