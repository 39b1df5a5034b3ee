"""Runs a workload on vLLM's own scheduler and records what it decided, step by step.

Runs in the oracle's environment alone, through `grader/oracle/entry.py`. The model is the same
tape as the reference engine's: it reads and writes tokens at the slots that vLLM's block tables
name, so that the two engines sample the same token as long as they agree.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vllm.v1.core.sched.output import SchedulerOutput
from vllm.v1.engine import EngineCoreOutputs
from vllm.v1.metrics.stats import PrefixCacheStats
from vllm.v1.outputs import DraftTokenIds, ModelRunnerOutput
from vllm.v1.request import Request, RequestStatus

from grader.oracle.real_kv_events import EventCollector
from grader.oracle.real_scheduler import build_request, build_scheduler
from reference.hybrid_model_runner import HybridModelRunner, HybridTape
from reference.model_runner import ModelRunner
from reference.output import SchedulerOutput as ReferenceOutput
from reference.sampling_params import SamplingParams
from reference.tape import Tape
from reference.trace import BlockIds, StepRecord, Trace
from reference.workload import Workload, WorkloadRequest, parse_workload


def run(data: dict[str, Any]) -> dict[str, Any]:
    """The trace of a workload, both as plain data, the free list with each step.

    Raises reference.workload.WorkloadError when the workload is not valid.
    """
    return RealEngine(parse_workload(data, "workload.yaml")).run().to_dict()


@dataclass(frozen=True)
class Admitted:
    """What the model runner reads of a request that vLLM has admitted."""

    all_token_ids: tuple[int, ...]
    num_prompt_tokens: int
    sampling_params: SamplingParams


@dataclass(frozen=True)
class LaunchedStep:
    """A step in flight: the first half of its record, and what vLLM is to be given back."""

    scheduled: dict[str, Any]
    scheduler_output: SchedulerOutput
    model_output: ModelRunnerOutput
    prefix_cache_stats: PrefixCacheStats


class RealEngine:
    """vLLM's scheduler with a tape for a model, driven through one workload."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.engine = workload.engine
        self.scheduler = build_scheduler(workload.engine)
        self.events = EventCollector()
        self.scheduler.kv_event_publisher = self.events
        self.pool = self.scheduler.kv_cache_manager.block_pool
        self.groups = workload.engine.kv_cache_groups
        self.model_runner = self._make_model_runner()
        self.requests: dict[str, Request] = {}
        self.params = {request.id: request.sampling_params for request in workload.requests}
        self.outputs: dict[str, list[int]] = {request.id: [] for request in workload.requests}
        self.arrivals = sorted(workload.requests, key=lambda request: request.arrival)
        self.num_arrived = 0
        self.num_launched = 0
        self.in_flight: deque[LaunchedStep] = deque()

    def _make_model_runner(self) -> ModelRunner:
        vocab_size, num_drafts = self.workload.model.vocab_size, self.engine.num_speculative_tokens
        if self.groups is None:
            return ModelRunner(Tape(self.engine.block_size, vocab_size), num_drafts)
        return HybridModelRunner(HybridTape(self.groups, vocab_size), num_drafts)

    def run(self) -> Trace:
        steps: list[StepRecord] = []
        while self._is_busy() and len(steps) < self.workload.max_steps:
            while self._may_launch():
                self._launch()
            steps.append(self._land(self.in_flight.popleft()))
        return Trace(self.workload.name, steps, self.outputs, complete=not self._is_busy())

    def _is_busy(self) -> bool:
        to_come = self.num_arrived < len(self.arrivals)
        return to_come or bool(self.in_flight) or self.scheduler.has_requests()

    def _may_launch(self) -> bool:
        """As vLLM's `EngineCore` does: fill the queue of batches before waiting for one."""
        if not self.in_flight:
            return True
        may_schedule = self.num_launched < self.workload.max_steps and self.scheduler.has_requests()
        size = self.scheduler.vllm_config.max_concurrent_batches
        return may_schedule and len(self.in_flight) < size

    def _launch(self) -> None:
        step = self.num_launched
        self._before_schedule(step)
        output = self.scheduler.schedule()
        stats = self.scheduler.kv_cache_manager.make_prefix_cache_stats()
        scheduled = self._scheduled(step, output)
        model_output = self._execute_model(scheduled)
        self._abort(step, after_schedule=True)
        self.in_flight.append(LaunchedStep(scheduled, output, model_output, stats))
        self.num_launched += 1

    def _land(self, launched: LaunchedStep) -> StepRecord:
        outputs = self.scheduler.update_from_output(
            launched.scheduler_output, launched.model_output
        )
        if self.engine.num_speculative_tokens and not self.engine.async_scheduling:
            drafts = self.model_runner.take_draft_token_ids()
            self.scheduler.update_draft_token_ids(
                DraftTokenIds(list(drafts), [list(tokens) for tokens in drafts.values()])
            )
        record = self._updated(launched, outputs[0])
        for id, tokens in record.sampled_token_ids.items():
            self.outputs[id].extend(tokens)
        return record

    def _before_schedule(self, step: int) -> None:
        if step in self.workload.reset_prefix_cache:
            self.scheduler.reset_prefix_cache()
        if step in self.workload.reset_running_requests:
            self.scheduler.reset_prefix_cache(reset_running_requests=True)
        self._abort(step, after_schedule=False)
        while self.num_arrived < len(self.arrivals):
            request = self.arrivals[self.num_arrived]
            if request.arrival > step:
                break
            self._arrive(request)
        self._compile_grammars(step)

    def _arrive(self, request: WorkloadRequest) -> None:
        real = build_request(request, self.workload)
        self.requests[request.id] = real
        self.scheduler.add_request(real)
        self.num_arrived += 1

    def _abort(self, step: int, after_schedule: bool) -> None:
        # One by one: vLLM frees those of one call in the order of a set.
        for request in self.workload.requests:
            abort = request.abort
            if abort and (abort.step, abort.after_schedule) == (step, after_schedule):
                self.scheduler.finish_requests(request.id, RequestStatus.FINISHED_ABORTED)

    def _compile_grammars(self, step: int) -> None:
        for request in self.workload.requests:
            grammar = request.grammar
            if grammar and grammar.step <= step and request.id in self.requests:
                compiled = object() if grammar.compiles else ValueError("grammar")
                self.requests[request.id].structured_output_request.grammar = compiled

    def _scheduled(self, step: int, output: SchedulerOutput) -> dict[str, Any]:
        """The fields of a record that are known once a step is scheduled."""
        # Where a resumed request stands depends on the model runner: with the new ones or not.
        tables = {new.req_id: new.block_ids for new in output.scheduled_new_reqs}
        computed = {new.req_id: new.num_computed_tokens for new in output.scheduled_new_reqs}
        new_block_ids = {}
        running = output.scheduled_cached_reqs
        for id, num_computed, blocks in zip(
            running.req_ids, running.num_computed_tokens, running.new_block_ids, strict=True
        ):
            computed[id] = num_computed
            if id in running.resumed_req_ids:
                tables[id] = blocks
            elif blocks:
                new_block_ids[id] = self._block_ids(blocks)
        scheduled = output.num_scheduled_tokens
        admitted = [id for id in scheduled if id in tables]
        resumed = [id for id in admitted if self.requests[id].num_preemptions]
        return {
            "step": step,
            "num_scheduled_tokens": dict(scheduled),
            "num_computed_tokens": {id: computed[id] for id in scheduled},
            "new_request_ids": [id for id in admitted if id not in resumed],
            "resumed_request_ids": resumed,
            "block_ids": {id: self._block_ids(tables[id]) for id in admitted},
            "new_block_ids": new_block_ids,
            "num_cached_tokens": {id: computed[id] for id in admitted},
            "preempted_request_ids": sorted(output.preempted_req_ids or ()),
            "finished_request_ids": sorted(output.finished_req_ids),
            "scheduled_spec_decode_tokens": {
                id: list(tokens) for id, tokens in output.scheduled_spec_decode_tokens.items()
            },
        }

    def _block_ids(self, blocks: Sequence[Sequence[int]]) -> BlockIds:
        """As a record has them: one list for each group where layers are grouped."""
        return list(blocks[0]) if self.groups is None else [list(group) for group in blocks]

    def _execute_model(self, scheduled: dict[str, Any]) -> ModelRunnerOutput:
        """Run the tape on the blocks that the step's output names, and on no others."""
        names = ("num_scheduled_tokens", "num_computed_tokens", "block_ids", "new_block_ids")
        output = ReferenceOutput(
            **{name: scheduled[name] for name in (*names, "scheduled_spec_decode_tokens")},
            preempted_req_ids=set(scheduled["preempted_request_ids"]),
            finished_req_ids=set(scheduled["finished_request_ids"]),
        )
        admitted = {id: self._admitted(id) for id in scheduled["block_ids"]}
        sampled = self.model_runner.execute_model(output, admitted)
        ids = list(sampled)
        return ModelRunnerOutput(
            req_ids=ids,
            req_id_to_index={id: index for index, id in enumerate(ids)},
            sampled_token_ids=[sampled[id] for id in ids],
        )

    def _admitted(self, id: str) -> Admitted:
        real = self.requests[id]
        return Admitted(tuple(real.all_token_ids), real.num_prompt_tokens, self.params[id])

    def _updated(self, launched: LaunchedStep, outputs: EngineCoreOutputs) -> StepRecord:
        """The record of a step whose output was taken in."""
        stats = launched.prefix_cache_stats
        waiting = (*self.scheduler.skipped_waiting, *self.scheduler.waiting)
        return StepRecord(
            **launched.scheduled,
            sampled_token_ids={
                output.request_id: list(output.new_token_ids)
                for output in outputs.outputs
                if output.new_token_ids
            },
            finished={
                output.request_id: [str(output.finish_reason), output.stop_reason]
                for output in outputs.outputs
                if output.finish_reason is not None
            },
            running=[request.request_id for request in self.scheduler.running],
            waiting=[request.request_id for request in waiting],
            num_free_blocks=self.pool.get_num_free_blocks(),
            free_block_ids=self._free_block_ids(),
            prefix_cache_queries=stats.queries,
            prefix_cache_hits=stats.hits,
            preempted_queries=stats.preempted_queries,
            preempted_hits=stats.preempted_hits,
            kv_events=self.events.take(),
        )

    def _free_block_ids(self) -> list[int]:
        return [block.block_id for block in self.pool.free_block_queue.get_all_free_blocks()]
