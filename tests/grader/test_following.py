"""The way of one request, place by place."""

import ast
from pathlib import Path

import pytest

from grader.following import API_SERVER, ENGINE_CORE, PLACES, UnknownRequest, follow
from grader.oracle.environment import find_oracle, site_packages
from grader.workloads import read_workload
from reference.workload import Workload

STREAMED = Path(__file__).parents[2] / "exercises" / "workloads" / "streamed_text.yaml"


@pytest.fixture
def workload() -> Workload:
    return read_workload(STREAMED)


def test_a_request_goes_from_the_front_to_the_core_and_back(workload: Workload) -> None:
    journey, _ = follow(workload, "story")
    processes = [stop.process for stop in journey.stops]
    changes = [p for p, before in zip(processes, [None, *processes], strict=False) if p != before]
    assert changes[:3] == [API_SERVER, ENGINE_CORE, API_SERVER]
    queues = [stop.queue for stop in journey.stops if stop.queue]
    assert queues[:4] == [
        "ZMQ ROUTER → DEALER",
        "input_queue",
        "Scheduler.waiting",
        "Scheduler.running",
    ]


def test_its_children_are_followed_too(workload: Workload) -> None:
    journey, _ = follow(workload, "twice")
    assert [name[:2] for name in journey.ids[1:]] == ["0_", "1_"]


def test_a_stop_string_is_told_as_an_abort_in_the_core(workload: Workload) -> None:
    journey, _ = follow(workload, "stopped")
    assert any(stop.name == "EngineCore.abort_requests" for stop in journey.stops)


def test_the_steps_are_those_of_the_run(workload: Workload) -> None:
    journey, engine = follow(workload, "story")
    told = {stop.step for stop in journey.stops if stop.name == "Scheduler.schedule"}
    core_id = journey.ids[0]
    steps = engine.core.steps
    assert told == {step.step for step in steps if core_id in step.num_scheduled_tokens}


def test_a_request_that_there_is_not_is_told(workload: Workload) -> None:
    with pytest.raises(UnknownRequest, match="story"):
        follow(workload, "stroy")


@pytest.mark.skipif(find_oracle() is None, reason="reads the real vLLM's source")
@pytest.mark.parametrize("symbol", sorted(symbol for _, symbol in PLACES.values()))
def test_every_place_is_a_symbol_of_the_pinned_vllm(symbol: str) -> None:
    file, _, name = symbol.partition("#")
    body = ast.parse((site_packages() / file).read_text()).body
    for part in name.split("."):
        named = [node for node in body if getattr(node, "name", None) == part]
        assert named, part
        body = getattr(named[0], "body", [])
