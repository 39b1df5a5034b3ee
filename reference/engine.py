"""The engine: a workload goes in, step by step, and a trace comes out."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from reference.async_scheduler import AsyncScheduler
from reference.base_kv_cache_manager import BaseKVCacheManager
from reference.block_pool import BlockPool
from reference.detokenizer import IncrementalDetokenizer
from reference.hybrid_kv_cache_manager import HybridKVCacheManager
from reference.hybrid_model_runner import HybridModelRunner, HybridTape
from reference.input_processor import InputProcessor
from reference.kv_cache_manager import KVCacheManager
from reference.kv_cache_utils import RequestHashes
from reference.kv_events import (
    EventingBlockPool,
    EventingHybridKVCacheManager,
    EventingKVCacheManager,
    KVCacheEvent,
)
from reference.model_runner import ModelRunner
from reference.output import EngineCoreOutputs, SchedulerOutput
from reference.output_processor import OutputProcessor
from reference.parallel_sampling import fan_out
from reference.request import Request, RequestStatus, StructuredOutputRequest
from reference.request_queue import create_request_queue
from reference.sched_utils import check_stop
from reference.scheduler import Scheduler
from reference.stats import PrefixCacheStats
from reference.tape import Tape
from reference.trace import StepRecord, Trace
from reference.wire import EngineCoreRequest
from reference.workload import Workload, WorkloadRequest


@dataclass(frozen=True, slots=True)
class Parts:
    """What the engine is made of; each part is called as the engine's own is.

    ``block_hasher`` makes the hashes of one request: of the hash's name, the block size, the
    prompt's tokens, multimodal items, LoRA name and salt. ``hybrid_kv_cache_manager`` stands in
    for ``kv_cache_manager`` where layers are grouped, ``async_scheduler`` for ``scheduler`` under
    async scheduling. With KV cache events the ``eventing_`` parts stand in for them all. The
    front's parts, from ``input_processor`` on, are there for ``LLMEngine`` alone.
    """

    block_pool: Callable[..., Any] = BlockPool
    kv_cache_manager: Callable[..., Any] = KVCacheManager
    hybrid_kv_cache_manager: Callable[..., Any] = HybridKVCacheManager
    block_hasher: Callable[..., Any] = RequestHashes
    request_queue: Callable[..., Any] = create_request_queue
    check_stop: Callable[..., Any] = check_stop
    scheduler: Callable[..., Any] = Scheduler
    async_scheduler: Callable[..., Any] = AsyncScheduler
    input_processor: Callable[..., Any] = InputProcessor
    detokenizer: Callable[..., Any] = IncrementalDetokenizer
    output_processor: Callable[..., Any] = OutputProcessor
    fan_out: Callable[..., Any] = fan_out
    eventing_block_pool: Callable[..., Any] = EventingBlockPool
    eventing_kv_cache_manager: Callable[..., Any] = EventingKVCacheManager
    eventing_hybrid_kv_cache_manager: Callable[..., Any] = EventingHybridKVCacheManager


@dataclass(frozen=True, slots=True)
class LaunchedStep:
    """A step in flight: decided, and its model launched."""

    step: int
    scheduler_output: SchedulerOutput
    sampled_token_ids: dict[str, list[int]]
    prefix_cache_stats: PrefixCacheStats


class GrammarError(ValueError):
    """A request's grammar cannot be compiled."""


class Engine:
    """Runs a workload. ``free_order`` records the whole free list with each step.

    Under async scheduling a step is launched before the one before it comes back.

    >>> from reference.workload import parse_workload
    >>> request = {"id": "a", "prompt": [1, 2, 3], "max_tokens": 2}
    >>> engine = Engine(parse_workload({"requests": [request]}, "one.yaml"))
    >>> engine.step().num_scheduled_tokens
    {'a': 3}
    >>> engine.step().num_scheduled_tokens, engine.step().finished_request_ids, engine.done
    ({'a': 1}, ['a'], True)
    """

    def __init__(
        self, workload: Workload, parts: Parts | None = None, free_order: bool = False
    ) -> None:
        self.workload = workload
        self.outputs: dict[str, list[int]] = {request.id: [] for request in workload.requests}
        self._parts = parts or Parts()
        self._free_order = free_order
        self._step = 0
        self._in_flight: deque[LaunchedStep] = deque()
        config = workload.engine
        self._take_events: Callable[[], list[KVCacheEvent]] | None = None
        self.block_pool: BlockPool = self._make_block_pool()
        self.kv_cache_manager: BaseKVCacheManager = self._make_kv_cache_manager()
        scheduler = (
            self._parts.async_scheduler if config.async_scheduling else self._parts.scheduler
        )
        self.scheduler: Scheduler = scheduler(
            config,
            self.kv_cache_manager,
            self._parts.request_queue,
            self._parts.check_stop,
            log_stats=True,
        )
        self.model_runner = self._make_model_runner()
        self._requests: dict[str, Request] = {}
        self._due = Timetable(workload)

    def _make_block_pool(self) -> Any:
        config = self.workload.engine
        sizes = (config.num_gpu_blocks, config.enable_prefix_caching)
        if not config.enable_kv_cache_events:
            return self._parts.block_pool(*sizes)
        pool = self._parts.eventing_block_pool(*sizes, config.kv_cache_groups is not None)
        self._take_events = pool.take_events
        return pool

    def _make_kv_cache_manager(self) -> Any:
        config, parts = self.workload.engine, self._parts
        plain, hybrid = parts.kv_cache_manager, parts.hybrid_kv_cache_manager
        if config.enable_kv_cache_events:
            requests = {request.id: request for request in self.workload.requests}
            plain = partial(parts.eventing_kv_cache_manager, requests=requests)
            hybrid = partial(parts.eventing_hybrid_kv_cache_manager, requests=requests)
        if config.kv_cache_groups is None:
            return plain(
                self.block_pool,
                config.block_size,
                config.max_model_len,
                config.enable_prefix_caching,
                config.watermark,
            )
        return hybrid(
            self.block_pool,
            config.kv_cache_groups,
            config.max_model_len,
            config.max_in_flight_tokens,
            config.enable_prefix_caching,
            config.watermark,
            config.prefix_cache_retention_interval,
        )

    def _make_model_runner(self) -> ModelRunner:
        config, vocab_size = self.workload.engine, self.workload.model.vocab_size
        num_drafts = config.num_speculative_tokens
        if config.kv_cache_groups is None:
            return ModelRunner(Tape(config.block_size, vocab_size), num_drafts)
        return HybridModelRunner(HybridTape(config.kv_cache_groups, vocab_size), num_drafts)

    @property
    def done(self) -> bool:
        """Whether every request has come, ended and been reported."""
        has_come = self._step > self._due.last_arrival
        return has_come and not self._in_flight and not self.scheduler.has_requests()

    def step(self) -> StepRecord:
        """Launches the steps that may be in flight, and takes in the oldest of them."""
        while self._may_launch():
            self._launch()
        return self._land(self._in_flight.popleft())

    def run(self) -> Trace:
        """Runs to the end, or to ``max_steps``."""
        steps: list[StepRecord] = []
        while not self.done and len(steps) < self.workload.max_steps:
            steps.append(self.step())
        return Trace(self.workload.name, steps, self.outputs, complete=self.done)

    def _may_launch(self) -> bool:
        if not self._in_flight:
            return True
        has_room = len(self._in_flight) < self.workload.engine.max_concurrent_batches
        # Nobody waits for a step that could not do anything.
        has_use = self._step < self.workload.max_steps and self.scheduler.has_requests()
        return has_room and has_use

    def _launch(self) -> None:
        """What is due before a step, its decisions, and the model."""
        step = self._step
        self._apply_what_is_due(step)
        output = self.scheduler.schedule()
        stats = self.kv_cache_manager.make_prefix_cache_stats()
        sampled = self.model_runner.execute_model(output, self._requests)
        for request_id in self._due.late_aborts.get(step, ()):
            self._abort(request_id)
        self._in_flight.append(LaunchedStep(step, output, sampled, stats))
        self._step += 1

    def _land(self, launched: LaunchedStep) -> StepRecord:
        """What comes back from the model, and the record of its step."""
        config = self.workload.engine
        clients = self.scheduler.update_from_output(
            launched.scheduler_output, launched.sampled_token_ids
        )
        if config.num_speculative_tokens and not config.async_scheduling:
            self.scheduler.update_draft_token_ids(self.model_runner.take_draft_token_ids())
        return self.record(launched, clients)

    def _apply_what_is_due(self, step: int) -> None:
        if step in self.workload.reset_prefix_cache:
            self.scheduler.reset_prefix_cache()
        if step in self.workload.reset_running_requests:
            self.scheduler.reset_prefix_cache(reset_running_requests=True)
        for request_id in self._due.early_aborts.get(step, ()):
            self._abort(request_id)
        for arriving in self._due.arrivals.get(step, ()):
            request = self.make_request(arriving)
            self._requests[request.request_id] = request
            self.scheduler.add_request(request)
        for waiting in self._due.grammars.get(step, ()):
            self._compile_grammar(waiting)

    def _abort(self, request_id: str) -> None:
        self.scheduler.finish_requests(request_id, RequestStatus.FINISHED_ABORTED)

    def make_request(self, request: WorkloadRequest) -> Request:
        return Request(
            request.id,
            request.prompt_token_ids,
            request.sampling_params,
            arrival_time=request.arrival_time,
            priority=request.priority,
            hashes=self.make_block_hashes(request),
            structured_output_request=StructuredOutputRequest() if request.grammar else None,
        )

    def make_block_hashes(self, request: WorkloadRequest | EngineCoreRequest) -> Any:
        """The block hashes of a new request; None without prefix caching."""
        if not self.workload.engine.enable_prefix_caching:
            return None
        return self._parts.block_hasher(
            "sha256",
            self.workload.engine.hash_block_size,
            list(request.prompt_token_ids),
            [(item.identifier, item.offset, item.length) for item in request.mm_features],
            request.lora_name,
            request.cache_salt,
        )

    def _compile_grammar(self, waiting: WorkloadRequest) -> None:
        structured_output = self._requests[waiting.id].structured_output_request
        assert structured_output is not None
        assert waiting.grammar is not None
        failure = GrammarError(f"the grammar of {waiting.id} does not compile")
        structured_output.grammar = "compiled" if waiting.grammar.compiles else failure

    def record(
        self, launched: LaunchedStep, clients: Mapping[int, EngineCoreOutputs]
    ) -> StepRecord:
        """What one step has come to; it must be the one that has just come back."""
        output, queries = launched.scheduler_output, launched.prefix_cache_stats
        news = [each for client in clients.values() for each in client.outputs]
        for each in news:
            self.outputs.setdefault(each.request_id, []).extend(each.new_token_ids)
        free_order = self.block_pool.free_order() if self._free_order else None
        return StepRecord(
            step=launched.step,
            num_scheduled_tokens=output.num_scheduled_tokens,
            num_computed_tokens=output.num_computed_tokens,
            new_request_ids=output.scheduled_new_reqs,
            resumed_request_ids=output.scheduled_resumed_reqs,
            block_ids=output.block_ids,
            new_block_ids=output.new_block_ids,
            num_cached_tokens=output.num_cached_tokens,
            preempted_request_ids=sorted(output.preempted_req_ids),
            finished_request_ids=sorted(output.finished_req_ids),
            sampled_token_ids={e.request_id: e.new_token_ids for e in news if e.new_token_ids},
            finished={
                each.request_id: [str(each.finish_reason), each.stop_reason]
                for each in news
                if each.finish_reason is not None
            },
            running=[request.request_id for request in self.scheduler.running],
            waiting=self.scheduler.waiting_queues.request_ids(),
            num_free_blocks=self.block_pool.get_num_free_blocks(),
            free_block_ids=free_order,
            prefix_cache_queries=queries.queries,
            prefix_cache_hits=queries.hits,
            preempted_queries=queries.preempted_queries,
            preempted_hits=queries.preempted_hits,
            scheduled_spec_decode_tokens=output.scheduled_spec_decode_tokens,
            kv_events=self._take_events() if self._take_events else [],
        )


class Timetable:
    """What happens before, or within, which step."""

    def __init__(self, workload: Workload) -> None:
        self.last_arrival = max((request.arrival for request in workload.requests), default=-1)
        self.arrivals: dict[int, list[WorkloadRequest]] = {}
        self.grammars: dict[int, list[WorkloadRequest]] = {}
        self.early_aborts: dict[int, list[str]] = {}
        self.late_aborts: dict[int, list[str]] = {}
        for request in workload.requests:
            self.arrivals.setdefault(request.arrival, []).append(request)
            if request.grammar is not None:
                ready = max(request.grammar.step, request.arrival)
                self.grammars.setdefault(ready, []).append(request)
            if request.abort is not None:
                aborts = self.late_aborts if request.abort.after_schedule else self.early_aborts
                aborts.setdefault(request.abort.step, []).append(request.id)


def run_workload(workload: Workload, parts: Parts | None = None, free_order: bool = False) -> Trace:
    """The trace of a whole workload.

    >>> from reference.workload import parse_workload
    >>> request = {"id": "a", "prompt": [1, 2, 3], "max_tokens": 2}
    >>> trace = run_workload(parse_workload({"requests": [request]}, "one.yaml"))
    >>> len(trace.steps), trace.complete, len(trace.outputs["a"])
    (3, True, 2)
    """
    return Engine(workload, parts, free_order).run()


__all__: Sequence[str] = ("Engine", "GrammarError", "Parts", "run_workload")
