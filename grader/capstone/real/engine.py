"""A workload on a release's own scheduler, step by step, with the tape for a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vllm.v1.outputs import ModelRunnerOutput
from vllm.v1.request import RequestStatus

from grader.capstone.facts import facts_of
from grader.capstone.kinds.engine import plain_workload
from grader.capstone.real.building import build_request, build_scheduler, known
from reference.hybrid_model_runner import HybridModelRunner, HybridTape
from reference.model_runner import ModelRunner
from reference.output import SchedulerOutput
from reference.tape import Tape
from reference.trace import StepRecord, Trace
from reference.workload import Workload, WorkloadRequest, parse_workload


def run(inputs: dict[str, Any], side: dict[str, Any]) -> dict[str, Any]:
    """The facts of one side of a scenario, as this release decides it.

    `variants` are none of its business: they stand for what it does.
    """
    data = plain_workload(inputs, "scenario")
    data["engine"] = {**data.get("engine", {}), **side.get("engine", {})}
    workload = parse_workload(data, "scenario")
    return dict(facts_of(workload, ReleaseEngine(workload, side.get("release", {})).run()))


@dataclass(frozen=True)
class Admitted:
    """What the model runner reads of a request that was admitted."""

    all_token_ids: tuple[int, ...]
    num_prompt_tokens: int
    sampling_params: Any


class ReleaseEngine:
    """This release's scheduler, driven through one workload."""

    def __init__(self, workload: Workload, fields: dict[str, Any]) -> None:
        self.workload = workload
        self.scheduler = build_scheduler(workload.engine, fields)
        self.pool = self.scheduler.kv_cache_manager.block_pool
        self.groups = workload.engine.kv_cache_groups
        self.model_runner = self._make_model_runner()
        self.requests: dict[str, Any] = {}
        self.params = {request.id: request.sampling_params for request in workload.requests}
        self.outputs: dict[str, list[int]] = {request.id: [] for request in workload.requests}
        self.to_come = sorted(workload.requests, key=lambda request: request.arrival)

    def _make_model_runner(self) -> ModelRunner:
        vocab_size = self.workload.model.vocab_size
        if self.groups is None:
            return ModelRunner(Tape(self.workload.engine.block_size, vocab_size))
        return HybridModelRunner(HybridTape(self.groups, vocab_size), 0)

    def run(self) -> Trace:
        steps: list[StepRecord] = []
        while self._is_busy() and len(steps) < self.workload.max_steps:
            steps.append(self._step(len(steps)))
        return Trace(self.workload.name, steps, self.outputs, complete=not self._is_busy())

    def _is_busy(self) -> bool:
        return bool(self.to_come) or self.scheduler.has_requests()

    def _step(self, step: int) -> StepRecord:
        self._before_schedule(step)
        waiting_before = {id: r for id, r in self.requests.items() if _waits(r)}
        preempted_before = {id: r.num_preemptions for id, r in self.requests.items()}
        output = self.scheduler.schedule()
        stats = self.scheduler.kv_cache_manager.make_prefix_cache_stats()
        admitted = [id for id in output.num_scheduled_tokens if id in waiting_before]
        preempted = [
            id
            for id, request in self.requests.items()
            if request.num_preemptions > preempted_before[id]
        ]
        computed = self._num_computed(output)
        sampled = self._sample(output, preempted, computed)
        self._abort(step, after_schedule=True)
        outputs = self.scheduler.update_from_output(output, _model_output(sampled))
        news = [each for client in outputs.values() for each in client.outputs]
        for each in news:
            self.outputs[each.request_id].extend(each.new_token_ids)
        return StepRecord(
            step=step,
            num_scheduled_tokens=dict(output.num_scheduled_tokens),
            num_computed_tokens=computed,
            new_request_ids=[id for id in admitted if not self.requests[id].num_preemptions],
            resumed_request_ids=[id for id in admitted if self.requests[id].num_preemptions],
            num_cached_tokens={id: computed[id] for id in admitted},
            preempted_request_ids=sorted(preempted),
            finished_request_ids=sorted(output.finished_req_ids),
            sampled_token_ids={
                e.request_id: list(e.new_token_ids) for e in news if e.new_token_ids
            },
            finished={
                each.request_id: [str(each.finish_reason), each.stop_reason]
                for each in news
                if each.finish_reason is not None
            },
            running=[request.request_id for request in self.scheduler.running],
            waiting=self._waiting(),
            num_free_blocks=self.pool.get_num_free_blocks(),
            prefix_cache_queries=stats.queries if stats else 0,
            prefix_cache_hits=stats.hits if stats else 0,
            preempted_queries=getattr(stats, "preempted_queries", 0),
            preempted_hits=getattr(stats, "preempted_hits", 0),
        )

    def _before_schedule(self, step: int) -> None:
        if step in self.workload.reset_prefix_cache:
            self.scheduler.reset_prefix_cache()
        self._abort(step, after_schedule=False)
        while self.to_come and self.to_come[0].arrival <= step:
            self._arrive(self.to_come.pop(0))
        for request in self.workload.requests:
            grammar = request.grammar
            if grammar and grammar.step <= step and request.id in self.requests:
                self.requests[request.id].structured_output_request.grammar = object()

    def _arrive(self, request: WorkloadRequest) -> None:
        real = build_request(request, self.workload)
        self.requests[request.id] = real
        self.scheduler.add_request(real)

    def _abort(self, step: int, after_schedule: bool) -> None:
        for request in self.workload.requests:
            abort = request.abort
            if abort and (abort.step, abort.after_schedule) == (step, after_schedule):
                self.scheduler.finish_requests(request.id, RequestStatus.FINISHED_ABORTED)

    def _num_computed(self, output: Any) -> dict[str, int]:
        """Tokens computed before the step: `schedule` has counted its own already."""
        return {
            id: self.requests[id].num_computed_tokens - count
            for id, count in output.num_scheduled_tokens.items()
        }

    def _sample(
        self, output: Any, preempted: list[str], computed: dict[str, int]
    ) -> dict[str, list[int]]:
        """What the tape says to the step, read through the tables that the manager has now."""
        tables = {id: self._block_ids(id) for id in output.num_scheduled_tokens}
        step = SchedulerOutput(
            num_scheduled_tokens=dict(output.num_scheduled_tokens),
            num_computed_tokens=computed,
            # Every table anew: how a release tells of what is new in them has often changed.
            block_ids=tables,
            preempted_req_ids=set(preempted),
            finished_req_ids=set(output.finished_req_ids),
        )
        return self.model_runner.execute_model(step, {id: self._admitted(id) for id in tables})

    def _block_ids(self, id: str) -> Any:
        blocks: Sequence[Sequence[int]] = self.scheduler.kv_cache_manager.get_block_ids(id)
        return list(blocks[0]) if self.groups is None else [list(group) for group in blocks]

    def _admitted(self, id: str) -> Admitted:
        real = self.requests[id]
        return Admitted(tuple(real.all_token_ids), real.num_prompt_tokens, self.params[id])

    def _waiting(self) -> list[str]:
        skipped = getattr(self.scheduler, "skipped_waiting", ())
        return [request.request_id for request in (*skipped, *self.scheduler.waiting)]


def _waits(request: Any) -> bool:
    return request.status != RequestStatus.RUNNING and not RequestStatus.is_finished(request.status)


def _model_output(sampled: dict[str, list[int]]) -> ModelRunnerOutput:
    ids = list(sampled)
    return known(
        ModelRunnerOutput,
        req_ids=ids,
        req_id_to_index={id: index for index, id in enumerate(ids)},
        sampled_token_ids=[sampled[id] for id in ids],
        spec_token_ids=None,
        logprobs=None,
        prompt_logprobs_dict={},
        pooler_output=[],
    )
