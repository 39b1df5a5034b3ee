"""The way of one request through the engine: each place it passes, with the real code's name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from reference.llm_engine import LLMEngine
from reference.output import EngineCoreOutput, SchedulerOutput
from reference.wire import EngineCoreRequestType, to_wire
from reference.workload import Workload


def counted(number: int, noun: str) -> str:
    """
    >>> counted(1, "token"), counted(3, "token")
    ('1 token', '3 tokens')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


API_SERVER = "API server"
ENGINE_CORE = "engine core"
ENGINE = "vllm/v1/engine/"
#: Where each event of `LLMEngine` takes place: the process, and the symbol of the pinned vLLM.
PLACES = {
    "process_inputs": (API_SERVER, f"{ENGINE}input_processor.py#InputProcessor.process_inputs"),
    "assign": (API_SERVER, f"{ENGINE}input_processor.py#InputProcessor.assign_request_id"),
    "fan_out": (API_SERVER, f"{ENGINE}parallel_sampling.py#ParentRequest.get_child_info"),
    "output_processor": (API_SERVER, f"{ENGINE}output_processor.py#OutputProcessor.add_request"),
    "send": (API_SERVER, f"{ENGINE}core_client.py#AsyncMPClient._send_input"),
    "preprocess_add_request": (
        ENGINE_CORE,
        f"{ENGINE}core.py#EngineCoreProc.process_input_sockets",
    ),
    "add_request": (ENGINE_CORE, f"{ENGINE}core.py#EngineCoreProc._handle_client_request"),
    "schedule": (ENGINE_CORE, "vllm/v1/core/sched/scheduler.py#Scheduler.schedule"),
    "execute_model": (
        ENGINE_CORE,
        "vllm/v1/worker/gpu_model_runner.py#GPUModelRunner.execute_model",
    ),
    "update_from_output": (
        ENGINE_CORE,
        "vllm/v1/core/sched/scheduler.py#Scheduler.update_from_output",
    ),
    "sent_back": (ENGINE_CORE, f"{ENGINE}core.py#EngineCoreProc.process_output_sockets"),
    "process_outputs": (API_SERVER, f"{ENGINE}output_processor.py#OutputProcessor.process_outputs"),
    "shown": (API_SERVER, f"{ENGINE}output_processor.py#RequestOutputCollector.get"),
    "abort": (ENGINE_CORE, f"{ENGINE}core.py#EngineCore.abort_requests"),
    "finished_req_ids": (ENGINE_CORE, "vllm/v1/core/sched/output.py#SchedulerOutput"),
}


@dataclass(frozen=True)
class Stop:
    """One place on the way: what happened there, and the queue that it left by."""

    step: int | None
    process: str
    symbol: str
    what: str
    queue: str = ""

    @property
    def name(self) -> str:
        """The class and method, without the file."""
        return self.symbol.partition("#")[2]

    @property
    def file(self) -> str:
        """The file in vLLM's package."""
        return self.symbol.partition("#")[0]

    @property
    def is_news(self) -> bool:
        """Whether it says something that the places before and after it do not."""
        return self.symbol not in (PLACES["sent_back"][1], PLACES["process_outputs"][1])


@dataclass
class Journey:
    """All stops of a request and of its children, in order; `ids` are the core's names for it."""

    request_id: str
    ids: list[str] = field(default_factory=list)
    stops: list[Stop] = field(default_factory=list)


class UnknownRequest(ValueError):
    """The workload has no request of that name."""


def follow(workload: Workload, request_id: str) -> tuple[Journey, LLMEngine]:
    """Runs the workload with its front and writes down where one request goes.

    Raises:
        UnknownRequest: there is no such request.
        reference.llm_engine.CannotServe: the front cannot run this workload.
    """
    names = [request.id for request in workload.requests]
    if request_id not in names:
        raise UnknownRequest(
            f"{workload.name} has no request {request_id}; it has {', '.join(names)}"
        )
    follower = _Follower(request_id)
    engine = LLMEngine(workload, observe=follower.observe)
    follower.engine = engine
    engine.run()
    return follower.journey, engine


class _Follower:
    """Turns the engine's events into stops."""

    def __init__(self, request_id: str) -> None:
        self.journey = Journey(request_id)
        self.engine: LLMEngine | None = None

    def observe(self, place: str, core_id: str, facts: dict[str, Any]) -> None:
        journey = self.journey
        comes = place == "process_inputs" and facts["request"].id == journey.request_id
        if comes or (place == "fan_out" and facts["parent"] in journey.ids):
            journey.ids.append(core_id)
        is_own = core_id in journey.ids or (
            place == "shown" and facts["output"].request_id == journey.request_id
        )
        if is_own:
            getattr(self, f"_{place}")(core_id, facts)

    def _stop(self, place: str, what: str, queue: str = "", step: int | None = None) -> None:
        process, symbol = PLACES[place]
        self.journey.stops.append(Stop(step, process, symbol, what, queue))

    def _step(self) -> int:
        assert self.engine is not None
        return self.engine.core.num_launched

    def _last_step(self) -> int:
        assert self.engine is not None
        steps = self.engine.core.steps
        return steps[-1].step if steps else 0

    def _process_inputs(self, core_id: str, facts: dict[str, Any]) -> None:
        request, made = facts["request"], facts["made"]
        tokens = counted(len(made.prompt_token_ids), "token")
        text = tokens if request.prompt is None else f"{request.prompt!r} is {tokens}"
        ends = f"at most {counted(made.sampling_params.max_tokens, 'token')} to come"
        self._stop("process_inputs", f"{text}; {ends}")
        self._stop("assign", f"{request.id} is {core_id} from here on")

    def _fan_out(self, core_id: str, _facts: dict[str, Any]) -> None:
        self._stop("fan_out", f"{core_id}: a sequence of its own")

    def _output_processor(self, core_id: str, facts: dict[str, Any]) -> None:
        params = facts["request"].sampling_params
        kept = max((len(stop) for stop in params.stop), default=1) - 1
        held = f", {counted(kept, 'character')} kept back for stop strings" if kept else ""
        self._stop("output_processor", f"{core_id}: a detokenizer{held}, and a place for news")

    def _send(self, _core_id: str, facts: dict[str, Any]) -> None:
        size = len(msgspec.msgpack.encode(to_wire(facts["request"])))
        kind = EngineCoreRequestType.ADD
        self._stop("send", f"{kind.name}, {size} bytes of msgpack", "ZMQ ROUTER → DEALER")

    def _preprocess_add_request(self, _core_id: str, facts: dict[str, Any]) -> None:
        blocks = counted(facts["num_blocks_hashed"], "full block")
        self._stop("preprocess_add_request", f"input thread: {blocks} of it hashed", "input_queue")

    def _add_request(self, core_id: str, facts: dict[str, Any]) -> None:
        ahead = facts["num_ahead"]
        what = f"busy loop: {core_id} waits, {ahead or 'nobody'} ahead of it"
        self._stop("add_request", what, "Scheduler.waiting", self._step())

    def _schedule(self, core_id: str, facts: dict[str, Any]) -> None:
        output: SchedulerOutput = facts["output"]
        computed, new = output.num_computed_tokens[core_id], output.num_scheduled_tokens[core_id]
        what = f"{counted(new, 'token')} to compute after {computed}"
        if core_id in output.block_ids:
            hit = output.num_cached_tokens[core_id]
            what += f", {hit} of them found in the prefix cache" if hit else ""
            what += f"; blocks {output.block_ids[core_id]}"
        elif core_id in output.new_block_ids:
            what += f"; one block more: {output.new_block_ids[core_id]}"
        self._stop("schedule", what, "Scheduler.running", self._step())

    def _execute_model(self, _core_id: str, facts: dict[str, Any]) -> None:
        tokens = facts["sampled"]
        what = f"sampled {tokens}" if tokens else "a part of the prompt, so nothing is sampled"
        self._stop("execute_model", what, step=self._step())

    def _update_from_output(self, _core_id: str, facts: dict[str, Any]) -> None:
        output: EngineCoreOutput = facts["output"]
        ends = f", and it ends: {output.finish_reason}" if output.finished else ""
        tokens = f"{output.new_token_ids} appended{ends}"
        self._stop("update_from_output", tokens, "output_queue", self._last_step())
        self._stop("sent_back", "output thread", "ZMQ PUSH → PULL", self._last_step())

    def _shown(self, _core_id: str, facts: dict[str, Any]) -> None:
        for each in facts["output"].outputs:
            ends = f", finished: {each.finish_reason}" if each.finished() else ""
            index = f"sequence {each.index}: " if len(self.journey.ids) > 1 else ""
            what = f"{index}the client sees {each.text!r}{ends}"
            self._stop(
                "process_outputs", "tokens to text", "RequestOutputCollector", self._last_step()
            )
            self._stop("shown", what, step=self._last_step())

    def _abort(self, core_id: str, facts: dict[str, Any]) -> None:
        what = f"{core_id} ends in the core: {facts['reason']}"
        self._stop("abort", what, "aborts_queue and input_queue", self._last_step())

    def _finished_req_ids(self, core_id: str, _facts: dict[str, Any]) -> None:
        what = f"the model's process is told that {core_id} is over"
        self._stop("finished_req_ids", what, step=self._last_step())
