"""The real engine in its own process, ready to run one workload after another."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from grader.oracle.environment import require_oracle
from grader.worker import Limits, Worker
from reference.trace import Trace

REAL_ENGINE = Path(__file__).with_name("real_engine.py")
#: Importing vLLM takes 8 to 15 seconds; a workload runs in a fraction of one.
DEADLINE = 120.0
PRELOAD = ("vllm.config", "vllm.v1.core.sched.scheduler", "vllm.v1.request")


@contextmanager
def real_engine() -> Iterator[Callable[[dict[str, Any]], Trace]]:
    """Runs a workload given as plain data on vLLM's scheduler; vLLM is imported once.

    Raises `OracleMissing` where it is not installed, and the worker's own errors.
    """
    with (
        Worker(python=str(require_oracle()), preload=PRELOAD, limits=Limits.for_oracle()) as worker,
        worker.session(deadline=DEADLINE) as session,
    ):
        lesson = session.load(REAL_ENGINE, "real_engine")
        yield lambda data: Trace.from_dict(lesson.run(data))
