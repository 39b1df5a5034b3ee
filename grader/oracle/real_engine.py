"""Runs a workload on vLLM's own scheduler and records what it decided, step by step.

Runs in the oracle's environment alone, through `grader/oracle/entry.py`. The model is the same
tape as the reference engine's: it reads and writes tokens at the slots that vLLM's block tables
name, so that the two engines sample the same token as long as they agree.
"""

from collections.abc import Sequence
from typing import Any

from vllm.v1.core.sched.output import SchedulerOutput
from vllm.v1.engine import EngineCoreOutputs
from vllm.v1.outputs import ModelRunnerOutput
from vllm.v1.request import Request, RequestStatus

from grader.oracle.real_scheduler import build_request, build_scheduler
from reference.hybrid_model_runner import HybridTape
from reference.tape import Tape, TapeInput
from reference.trace import BlockIds, StepRecord, Trace, by_group
from reference.workload import Workload, WorkloadRequest, parse_workload


def run(data: dict[str, Any]) -> dict[str, Any]:
    """The trace of a workload, both as plain data, the free list with each step.

    Raises reference.workload.WorkloadError when the workload is not valid.
    """
    return RealEngine(parse_workload(data, "workload.yaml")).run().to_dict()


class RealEngine:
    """vLLM's scheduler with a tape for a model, driven through one workload."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.scheduler = build_scheduler(workload.engine)
        self.pool = self.scheduler.kv_cache_manager.block_pool
        self.groups = workload.engine.kv_cache_groups
        vocab_size = workload.model.vocab_size
        self.tape = (
            Tape(workload.engine.block_size, vocab_size)
            if self.groups is None
            else HybridTape(self.groups, vocab_size)
        )
        self.block_tables: dict[str, list[list[int]]] = {}
        self.requests: dict[str, Request] = {}
        self.outputs: dict[str, list[int]] = {request.id: [] for request in workload.requests}
        self.arrivals = sorted(workload.requests, key=lambda request: request.arrival)
        self.num_arrived = 0

    def run(self) -> Trace:
        steps: list[StepRecord] = []
        while self._is_busy() and len(steps) < self.workload.max_steps:
            steps.append(self._step(len(steps)))
        return Trace(self.workload.name, steps, self.outputs, complete=not self._is_busy())

    def _is_busy(self) -> bool:
        return self.num_arrived < len(self.arrivals) or self.scheduler.has_requests()

    def _step(self, step: int) -> StepRecord:
        self._before_schedule(step)
        output = self.scheduler.schedule()
        scheduled = self._scheduled(step, output)
        model_output = self._execute_model(scheduled)
        self._abort(step, after_schedule=True)
        outputs = self.scheduler.update_from_output(output, model_output)
        record = self._updated(scheduled, outputs[0])
        for id, tokens in record.sampled_token_ids.items():
            self.outputs[id].extend(tokens)
        return record

    def _before_schedule(self, step: int) -> None:
        if step in self.workload.reset_prefix_cache:
            self.scheduler.reset_prefix_cache()
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
        }

    def _block_ids(self, blocks: Sequence[Sequence[int]]) -> BlockIds:
        """As a record has them: one list for each group where layers are grouped."""
        return list(blocks[0]) if self.groups is None else [list(group) for group in blocks]

    def _execute_model(self, scheduled: dict[str, Any]) -> ModelRunnerOutput:
        """Run the tape on the blocks that the step's output names, and on no others."""
        for id, blocks in scheduled["block_ids"].items():
            self.block_tables[id] = by_group(blocks)
        for id, blocks in scheduled["new_block_ids"].items():
            for table, new_blocks in zip(self.block_tables[id], by_group(blocks), strict=True):
                table.extend(new_blocks)
        ids = list(scheduled["num_scheduled_tokens"])
        sampled = self.tape.execute(self._tape_input(id, scheduled) for id in ids)
        return ModelRunnerOutput(
            req_ids=ids,
            req_id_to_index={id: index for index, id in enumerate(ids)},
            sampled_token_ids=[sampled[id] for id in ids],
        )

    def _tape_input(self, id: str, scheduled: dict[str, Any]) -> TapeInput:
        request = self.requests[id]
        params = request.sampling_params
        return TapeInput(
            request_id=id,
            token_ids=list(request.all_token_ids),
            block_ids=self.block_tables[id][0] if self.groups is None else self.block_tables[id],
            num_computed_tokens=scheduled["num_computed_tokens"][id],
            num_new_tokens=scheduled["num_scheduled_tokens"][id],
            # What vLLM's own sampler masks until min_tokens is reached.
            forbidden_token_ids=frozenset(params.all_stop_token_ids),
            num_restricted=max(params.min_tokens - request.num_output_tokens, 0),
        )

    def _updated(self, scheduled: dict[str, Any], outputs: EngineCoreOutputs) -> StepRecord:
        """The record of a step whose output was taken in."""
        stats = outputs.scheduler_stats.prefix_cache_stats
        waiting = (*self.scheduler.skipped_waiting, *self.scheduler.waiting)
        return StepRecord(
            **scheduled,
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
        )

    def _free_block_ids(self) -> list[int]:
        return [block.block_id for block in self.pool.free_block_queue.get_all_free_blocks()]
