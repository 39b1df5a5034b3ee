"""The engine on a scheduler of the lesson preemption."""

from typing import Any

import pytest

from grader.bare import import_plainly
from grader.lessons import ROOT
from grader.parts.scheduler.preemption import install
from reference.engine import Engine, Parts, run_workload
from reference.workload import Workload, parse_workload

PROMPTS = [(6, 0), (9, 0), (2, 1), (11, 1), (4, 3), (1, 8), (12, 9)]
TIGHT = {
    "block_size": 4,
    "num_gpu_blocks": 9,
    "max_model_len": 32,
    "max_num_batched_tokens": 16,
}


def workload(engine: dict[str, Any], last: dict[str, Any] | None = None) -> Workload:
    requests: list[dict[str, Any]] = [
        {
            "id": f"r{i}",
            "prompt": {"prefix": "shared", "length": length, "seed": i},
            "max_tokens": 9,
            "arrival": arrival,
            "priority": i % 3,
        }
        for i, (length, arrival) in enumerate(PROMPTS)
    ]
    requests[-1] |= last or {}
    prefixes = {"shared": {"length": 6, "seed": 9}}
    data = {"engine": engine, "prefixes": prefixes, "requests": requests}
    return parse_workload(data, "w.yaml")


@pytest.fixture
def lesson() -> Any:
    return import_plainly(ROOT / "solutions" / "scheduler" / "preemption.py")


def test_the_submission_decides_where_the_lesson_knows_everything(lesson: Any) -> None:
    engine = Engine(workload(TIGHT), install(Parts(), lesson))
    lesson.Scheduler.schedule = lambda _: lesson.SchedulerOutput({}, [])
    assert engine.step().num_scheduled_tokens == {}


@pytest.mark.parametrize(
    ("engine", "last"),
    [
        (TIGHT, {}),
        (TIGHT | {"policy": "priority", "scheduler_reserve_full_isl": False}, {}),
        (TIGHT | {"enable_prefix_caching": False, "watermark": 0.2}, {}),
        (TIGHT, {"cache_salt": "own"}),
        (TIGHT, {"prompt_logprobs": True}),
        (TIGHT | {"num_speculative_tokens": 2}, {}),
        (TIGHT, {"abort": 14}),
        (TIGHT, {"stop_token_ids": list(range(0, 1000, 2))}),
        (TIGHT, {"grammar": {"step": 12}}),
    ],
    ids=[
        *("fcfs", "priority", "watermark", "salt", "logprobs", "drafts"),
        *("abort", "stop token", "grammar"),
    ],
)
def test_the_trace_is_the_engines_own(
    lesson: Any, engine: dict[str, Any], last: dict[str, Any]
) -> None:
    run = workload(engine, last)
    trace = run_workload(run)
    assert any(step.preempted_request_ids for step in trace.steps)
    assert run_workload(run, install(Parts(), lesson)) == trace
