"""The whole way in one process: a workload's requests go in, and their text comes out."""

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from reference.engine import Engine, LaunchedStep, Parts, Timetable
from reference.engine_core import CoreOutputs, ModelOutput
from reference.engine_core_proc import EngineCoreProc
from reference.executor import UniProcExecutor
from reference.front import Front, Observer, nobody
from reference.output import SchedulerOutput
from reference.outputs import RequestOutput
from reference.request import Request
from reference.trace import StepRecord, Trace
from reference.wire import EngineCoreRequest, EngineCoreRequestType, from_wire, to_wire
from reference.workload import Workload

#: Who asks for what the workload itself has to be done.
CALL_ID = 0


class CannotServe(ValueError):
    """The workload asks for what only the engine alone can do, without its front."""


class RecordedCore(EngineCoreProc):
    """A core that keeps a record of its steps. Aborts may come while the model runs."""

    def __init__(self, engine: Engine, late_aborts: Callable[[int], None], observe: Observer):
        self.requests: dict[str, Request] = {}
        self.steps: list[StepRecord] = []
        config = engine.workload.engine
        makes_drafts = config.num_speculative_tokens > 0 and not config.async_scheduling
        super().__init__(
            engine.scheduler,
            UniProcExecutor(engine.model_runner, self.requests, makes_drafts),
            config.max_concurrent_batches,
        )
        self.num_launched = 0
        self._engine = engine
        self._late_aborts = late_aborts
        self._observe = observe
        self._in_flight: deque[LaunchedStep] = deque()

    @property
    def is_launching(self) -> bool:
        """Whether the next turn decides a step, or could if there was anything to do."""
        return not self.batch_queue or self.scheduler.has_requests()

    def preprocess_add_request(self, request: EngineCoreRequest) -> Request:
        """The core's own form of a request, its prompt hashed."""
        made = Request(
            request.request_id,
            request.prompt_token_ids,
            request.sampling_params,
            client_index=request.client_index,
            arrival_time=request.arrival_time,
            priority=request.priority,
            hashes=self._engine.make_block_hashes(request),
        )
        self.requests[request.request_id] = made
        facts = {"num_blocks_hashed": len(made.block_hashes)}
        self._observe("preprocess_add_request", request.request_id, facts)
        return made

    def add_request(self, request: Request) -> None:
        super().add_request(request)
        ahead = len(self._engine.scheduler.waiting_queues) - 1
        self._observe("add_request", request.request_id, {"num_ahead": ahead})

    def _launch(self) -> tuple[SchedulerOutput, ModelOutput]:
        scheduler_output, sampled = super()._launch()
        stats = self._engine.kv_cache_manager.make_prefix_cache_stats()
        tokens = {request_id: list(ids) for request_id, ids in sampled.items()}
        launched = LaunchedStep(self.num_launched, scheduler_output, tokens, stats)
        self._in_flight.append(launched)
        for request_id in scheduler_output.num_scheduled_tokens:
            self._observe("schedule", request_id, {"output": scheduler_output})
            self._observe("execute_model", request_id, {"sampled": sampled.get(request_id, [])})
        self._late_aborts(self.num_launched)
        self.num_launched += 1
        return scheduler_output, sampled

    def _land(self, scheduler_output: SchedulerOutput, model_output: ModelOutput) -> CoreOutputs:
        outputs = super()._land(scheduler_output, model_output)
        self.steps.append(self._engine.record(self._in_flight.popleft(), outputs))
        for request_id in sorted(scheduler_output.finished_req_ids):
            self._observe("finished_req_ids", request_id, {})
        return outputs


def check_servable(workload: Workload) -> None:
    """Raises CannotServe for what only the engine alone can do, without its front."""
    if any(request.grammar for request in workload.requests):
        raise CannotServe(f"{workload.name}: the engine's front serves no grammars")
    if workload.engine.enable_kv_cache_events:
        raise CannotServe(f"{workload.name}: the engine's front passes on no cache events")


class LLMEngine:
    """Runs a workload through the front and the core, and keeps what each client is shown.

    What passes between the two is made into plain data and back, as on the wire.

    >>> from reference.workload import parse_workload
    >>> request = {"id": "a", "prompt": "the end", "max_tokens": 3}
    >>> engine = LLMEngine(parse_workload({"requests": [request]}, "one.yaml"))
    >>> engine.run().complete, [output.finished for output in engine.front.shown["a"]]
    (True, [False, False, True])

    Raises:
        CannotServe: a request has a grammar, or the prefix cache is to tell its events.
    """

    def __init__(
        self, workload: Workload, parts: Parts | None = None, observe: Observer = nobody
    ) -> None:
        check_servable(workload)
        parts = parts or Parts()
        self.workload = workload
        self.front = Front(workload, parts, self._send, self._send_aborts, observe)
        self._due = Timetable(workload)
        # The requests come through the front, so the engine behind it has none of its own.
        engine = Engine(replace(workload, requests=()), parts)
        self.core = RecordedCore(engine, self._abort_late, observe)

    @property
    def done(self) -> bool:
        """Whether every request has come and ended, and nothing is left to tell."""
        has_come = self.core.num_launched > self._due.last_arrival
        return has_come and not self.core.has_work() and self.core.input_queue.empty()

    @property
    def core_workload(self) -> Workload:
        """The workload as the core sees it: by its own ids, one request for each sequence."""
        requests = tuple(
            replace(request, id=core_id)
            for request in self.workload.requests
            for core_id in self.front.core_ids.get(request.id, ())
        )
        return replace(self.workload, requests=requests)

    def run(self) -> Trace:
        """Runs to the end, or to ``max_steps``; the trace is the core's, by its own ids."""
        while not self.done and self.core.num_launched < self.workload.max_steps:
            self.step()
        steps = self.core.steps
        outputs: dict[str, list[int]] = {}
        for step in steps:
            for request_id, tokens in step.sampled_token_ids.items():
                outputs.setdefault(request_id, []).extend(tokens)
        return Trace(self.workload.name, steps, outputs, complete=self.done)

    def step(self) -> list[RequestOutput]:
        """What is due, a turn of the core, and what the clients are shown of it."""
        core, step = self.core, self.core.num_launched
        is_launching = core.is_launching
        if is_launching:
            self._apply_what_is_due(step)
        core.turn()
        if is_launching and core.num_launched == step:
            # Time goes on where a core has nothing to do.
            core.num_launched += 1
        items = [item for item in core.outputs() if not isinstance(item, bytes)]
        return self.front.take_in([each for _, outputs in items for each in outputs.outputs])

    def _send(self, request: EngineCoreRequest) -> None:
        received = from_wire(EngineCoreRequest, to_wire(request))
        self.core.put(EngineCoreRequestType.ADD, self.core.preprocess_add_request(received))

    def _send_aborts(self, request_ids: list[str]) -> None:
        self.core.put_abort(request_ids)

    def _apply_what_is_due(self, step: int) -> None:
        if step in self.workload.reset_prefix_cache:
            self._call("reset_prefix_cache")
        if step in self.workload.reset_running_requests:
            self._call("reset_prefix_cache", True)
        for request_id in self._due.early_aborts.get(step, ()):
            self.front.abort(request_id)
        for request in self._due.arrivals.get(step, ()):
            self.front.add_request(request)

    def _call(self, method: str, *args: Any) -> None:
        self.core.put(EngineCoreRequestType.UTILITY, (0, CALL_ID, method, args))

    def _abort_late(self, step: int) -> None:
        for request_id in self._due.late_aborts.get(step, ()):
            self.front.abort(request_id)
