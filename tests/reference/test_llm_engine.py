"""The front is attached, and nothing that the core decides changes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from grader.workloads import read_workload
from reference.engine import run_workload
from reference.llm_engine import CannotServe, LLMEngine
from reference.trace import StepRecord
from reference.workload import Workload, parse_workload

TRACES = Path(__file__).parents[1] / "traces"
SERVED = [
    path
    for path in sorted(TRACES.glob("*.yaml"))
    if "grammar" not in path.read_text() and "kv_cache_events" not in path.read_text()
]


def workload(*requests: dict[str, Any], **engine: Any) -> Workload:
    return parse_workload({"engine": engine, "requests": list(requests)}, "drawn.yaml")


def under_clients_ids(step: StepRecord) -> str:
    return re.sub(r'-[0-9a-f]{8}"', '"', json.dumps(step.to_dict()))


@pytest.mark.parametrize("path", SERVED, ids=lambda path: path.stem)
def test_the_core_decides_behind_the_front_what_it_decides_alone(path: Path) -> None:
    alone, behind = run_workload(read_workload(path)), LLMEngine(read_workload(path)).run()
    taken = {step.step for step in behind.steps}
    # A core that has nothing to do takes no step; the engine alone records one.
    expected = [under_clients_ids(step) for step in alone.steps if step.step in taken]
    assert [under_clients_ids(step) for step in behind.steps] == expected
    assert all(not step.num_scheduled_tokens for step in alone.steps if step.step not in taken)
    assert behind.complete == alone.complete


def test_deltas_add_up_to_what_is_shown_at_once() -> None:
    texts = {}
    for kind in ("DELTA", "CUMULATIVE", "FINAL_ONLY"):
        request = {"id": "a", "prompt": "Once upon", "max_tokens": 12, "output_kind": kind}
        engine = LLMEngine(workload(request))
        engine.run()
        shown = [output.outputs[0].text for output in engine.front.shown["a"]]
        texts[kind] = "".join(shown) if kind == "DELTA" else shown[-1]
    assert len(set(texts.values())) == 1
    assert texts["DELTA"]


def test_a_stop_string_ends_the_request_in_the_core_too() -> None:
    request = {"id": "a", "prompt": "Once upon", "max_tokens": 12}
    engine = LLMEngine(workload(request))
    engine.run()
    text = engine.front.shown["a"][-1].outputs[0].text
    stopped = LLMEngine(workload(request | {"stop": [text[3:6]]}))
    trace = stopped.run()
    last = stopped.front.shown["a"][-1]
    assert (last.outputs[0].finish_reason, last.outputs[0].stop_reason) == ("stop", text[3:6])
    assert last.outputs[0].text == text[:3]
    assert trace.complete
    assert sum(map(len, trace.outputs.values())) < 12


def test_children_share_their_prompt_through_the_prefix_cache() -> None:
    request = {"id": "a", "prompt": list(range(33)), "max_tokens": 4, "n": 3}
    engine = LLMEngine(workload(request))
    trace = engine.run()
    assert [name[0] for name in trace.outputs] == ["0", "1", "2"]
    assert trace.steps[0].prefix_cache_hits == 2 * 32
    assert [output.finished for output in engine.front.shown["a"]][-1]


def test_async_scheduling_shows_the_same_text() -> None:
    request = {"id": "a", "prompt": "Once upon", "max_tokens": 9, "stop": ["zzz"]}
    shown = []
    for async_scheduling in (False, True):
        engine = LLMEngine(workload(request, async_scheduling=async_scheduling))
        engine.run()
        shown.append(engine.front.shown["a"][-1].outputs[0].text)
    assert shown[0] == shown[1]


def test_a_grammar_is_refused() -> None:
    request = {"id": "a", "prompt": [1], "max_tokens": 1, "grammar": 1}
    with pytest.raises(CannotServe, match="grammars"):
        LLMEngine(workload(request))
