"""The engine on a scheduler of the lesson token_budget."""

from typing import Any

import pytest

from grader.bare import import_plainly
from grader.lessons import ROOT
from grader.parts.scheduler.token_budget import install
from reference.engine import Engine, Parts, run_workload
from reference.workload import Workload, parse_workload

PROMPTS = [(10, 0), (50, 0), (5, 0), (7, 1), (40, 3), (1, 3), (33, 4), (20, 9)]


def workload(engine: dict[str, Any], last: dict[str, Any] | None = None) -> Workload:
    requests: list[dict[str, Any]] = [
        {
            "id": f"r{i}",
            "prompt": {"length": length, "seed": i},
            "max_tokens": 9,
            "arrival": arrival,
        }
        for i, (length, arrival) in enumerate(PROMPTS)
    ]
    requests[-1] |= last or {}
    return parse_workload({"engine": engine, "requests": requests}, "w.yaml")


@pytest.fixture
def lesson() -> Any:
    return import_plainly(ROOT / "solutions" / "scheduler" / "token_budget.py")


AMPLE = {"max_num_batched_tokens": 32, "enable_prefix_caching": False, "num_gpu_blocks": 99}


def test_the_submission_decides_where_the_lesson_knows_everything(lesson: Any) -> None:
    engine = Engine(workload(AMPLE), install(Parts(), lesson))
    lesson.Scheduler.schedule = lambda _: lesson.SchedulerOutput({}, {})
    assert engine.step().num_scheduled_tokens == {}


@pytest.mark.parametrize(
    ("engine", "last"),
    [
        (AMPLE, {}),
        (AMPLE | {"num_gpu_blocks": 9, "block_size": 8}, {}),
        (AMPLE | {"enable_prefix_caching": True}, {}),
        (AMPLE | {"policy": "priority"}, {"priority": -1}),
        (AMPLE, {"abort": 11}),
        (AMPLE, {"stop_token_ids": list(range(0, 1000, 2))}),
        (AMPLE, {"grammar": {"step": 12}}),
    ],
    ids=["ample", "tight", "caching", "priority", "abort", "stop token", "grammar"],
)
def test_the_trace_is_the_engines_own(
    lesson: Any, engine: dict[str, Any], last: dict[str, Any]
) -> None:
    run = workload(engine, last)
    assert run_workload(run, install(Parts(), lesson)) == run_workload(run)
