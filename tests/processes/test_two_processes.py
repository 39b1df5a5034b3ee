"""Front and core in two processes over ZMQ."""

import os
from typing import Any

import pytest

from grader.processes.core_client import CoreClient, EngineDeadError
from grader.processes.run import run_in_processes
from reference.llm_engine import CannotServe, LLMEngine
from reference.output import EngineCoreOutputs
from reference.outputs import RequestOutput
from reference.sampling_params import SamplingParams
from reference.wire import EngineCoreRequest, EngineCoreRequestType
from reference.workload import Workload, parse_workload

STORY = {"id": "a", "prompt": "Once upon a time", "max_tokens": 9, "output_kind": "DELTA"}


def workload(*requests: dict[str, Any], **other: Any) -> Workload:
    return parse_workload({"requests": list(requests), **other}, "drawn.yaml")


def text_of(outputs: list[RequestOutput]) -> str:
    return "".join(each.text for output in outputs for each in output.outputs)


def test_two_processes_show_the_text_that_one_shows() -> None:
    served = workload(STORY, STORY | {"id": "b", "stop": ["tle"], "arrival": 2})
    one = LLMEngine(served)
    one.run()
    two = run_in_processes(served)
    assert two.core_pid != os.getpid()
    for name in ("a", "b"):
        assert text_of(list(two.shown[name])) == text_of(one.front.shown[name])
    assert two.messages["ADD"] == 2


def test_the_core_answers_utility_calls_in_between() -> None:
    with CoreClient(workload(STORY)) as client:
        client.call_utility("is_scheduler_paused")
        client.call_utility("nothing")
        answers = [client.get_output().utility_output for _ in range(2)]
    assert [answer and answer.result for answer in answers] == [False, None]
    failure = answers[1].failure_message if answers[1] else None
    assert str(failure).startswith("Call to nothing method failed:")


def test_the_end_aborts_what_still_runs() -> None:
    with CoreClient(workload(STORY)) as client:
        params = SamplingParams(max_tokens=400)
        client.add_request(EngineCoreRequest("long", [1, 2], params))
        assert client.get_output().outputs[0].request_id == "long"
        client.process.terminate()
        reasons = [str(each.finish_reason) for each in _last(client).outputs]
        assert reasons == ["abort"]
        assert client.process.wait(timeout=10) == 0


def _last(client: CoreClient) -> EngineCoreOutputs:
    while True:
        outputs = client.get_output()
        if outputs.outputs and outputs.outputs[0].finished:
            return outputs


def test_a_core_that_crashes_says_so() -> None:
    with CoreClient(workload(STORY)) as client:
        client._send(EngineCoreRequestType.EXECUTOR_FAILED, None)
        with pytest.raises(EngineDeadError, match="crashed"):
            client.get_output()


def test_a_core_that_is_killed_is_noticed() -> None:
    with CoreClient(workload(STORY)) as client:
        client.process.kill()
        with pytest.raises(EngineDeadError, match="ended"):
            client.get_output()


def test_a_grammar_is_refused_before_anything_is_started() -> None:
    with pytest.raises(CannotServe):
        run_in_processes(workload(STORY | {"grammar": 1}))
