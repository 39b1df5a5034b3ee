"""The real engine in its own process, ready to run one workload after another."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from grader.oracle.environment import ENVIRONMENT, require_oracle
from grader.worker import Limits, Session, Worker
from reference.trace import Trace

ENTRY = Path(__file__).with_name("entry.py")
#: Seconds for one workload. It takes a fraction of one, but for the very first on a machine: vLLM
#: then looks at the tiny model's class in a process of its own.
DEADLINE = 120.0
FRONT_PRELOAD = ("vllm.v1.engine.core", "vllm.v1.engine.input_processor")
PRELOAD = ("vllm.config", "vllm.v1.core.sched.scheduler", "vllm.v1.request")


@contextmanager
def real_engine() -> Iterator[Callable[[dict[str, Any]], Trace]]:
    """Runs a workload given as plain data on vLLM's scheduler; vLLM is imported once.

    Raises `OracleMissing` where it is not installed, and the worker's own errors.
    """
    with _entry(PRELOAD) as (session, lesson):

        def run(data: dict[str, Any]) -> Trace:
            # A session tells the story of its calls, and thousands of workloads are none.
            session.begin_story()
            return Trace.from_dict(lesson.run(data))

        yield run


@contextmanager
def real_front() -> Iterator[Callable[[str, dict[str, Any]], Any]]:
    """Runs a script on vLLM's front: its kind and itself, as `grader.oracle.front` has them."""
    with _entry((*PRELOAD, *FRONT_PRELOAD)) as (session, lesson):

        def run(kind: str, script: dict[str, Any]) -> Any:
            session.begin_story()
            return lesson.run_front(kind, script)

        yield run


@contextmanager
def _entry(preload: tuple[str, ...]) -> Iterator[tuple[Session, Any]]:
    worker = Worker(
        python=str(require_oracle()),
        preload=preload,
        limits=Limits.for_oracle(),
        environment=ENVIRONMENT,
    )
    with worker, worker.session(deadline=DEADLINE) as session:
        yield session, session.load(ENTRY, "entry")
