"""What happened in a run, counted by name, so that "covers everything" is a measurement."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from grader.oracle.in_flight_situations import (
    IN_FLIGHT_SITUATIONS,
    of_drafts,
    of_steps_in_flight,
)
from reference.trace import StepRecord, Trace
from reference.workload import Workload, WorkloadRequest

#: Every situation that drawn workloads are meant to reach.
SITUATIONS = (
    "step with nothing scheduled",
    "prompt in one step",
    "prompt in chunks",
    "running prefill continued in a chunk",
    "admission of several requests",
    "blocks allocated while running",
    "prefix hit",
    "prefix hit of a resumed request",
    "preemption",
    "preemption of several requests",
    "preemption in mid-prefill",
    "preemption in a step that spends its whole budget",
    "request preempted twice",
    "resume",
    "finish: stop",
    "finish: stop by stop token",
    "finish: length",
    "finish: repetition",
    "finish: error",
    "abort of a waiting request",
    "abort of a running request",
    "abort of a preempted request",
    "abort of a finished request",
    "abort of a blocked request",
    "abort of a scheduled request, after schedule",
    "abort of a waiting request, after schedule",
    "abort of a request preempted in this step, after schedule",
    "blocked request waits",
    "prefix cache reset, all free",
    "prefix cache reset, blocks in use",
    "run ended by max_steps",
    "groups: hit with blocks that are not needed",
    "groups: hit where a group has no block",
    "groups: blocks let go while running",
    "groups: preemption",
    *IN_FLIGHT_SITUATIONS,
    "event: stored at the start",
    "event: stored behind a parent",
    "event: stored with extra keys",
    "event: stored by a group that keeps less than is full",
    "event: removed, and stored in the same step",
    "event: removed",
    "event: cleared",
)


def situations(workload: Workload, trace: Trace) -> Counter[str]:
    """How often each situation arose in a run.

    >>> from reference.workload import parse_workload
    >>> empty = parse_workload({"requests": []}, "empty.yaml")
    >>> situations(empty, Trace("empty", complete=False))
    Counter({'run ended by max_steps': 1})
    """
    counts: Counter[str] = Counter()
    preemptions: Counter[str] = Counter()
    for step in trace.steps:
        counts.update(_of_step(step))
        if step.preempted_request_ids and _num_tokens(step) == workload.engine.token_budget:
            counts["preemption in a step that spends its whole budget"] += 1
        for id in step.preempted_request_ids:
            preemptions[id] += 1
            counts["request preempted twice"] += preemptions[id] == 2
    counts.update(_of_prefills(workload, trace))
    for request in workload.requests:
        counts.update(_of_abort(request, trace))
    counts.update(_of_resets(workload, trace))
    counts.update(of_steps_in_flight(workload, trace))
    counts.update(of_drafts(workload, trace))
    counts.update(_of_groups(workload, trace))
    counts.update(_of_events(trace))
    if not trace.complete:
        counts["run ended by max_steps"] += 1
    return +counts


def _num_tokens(step: StepRecord) -> int:
    return sum(step.num_scheduled_tokens.values())


def _of_step(step: StepRecord) -> Iterator[str]:
    if not step.num_scheduled_tokens:
        yield "step with nothing scheduled"
    if len(step.block_ids) > 1:
        yield "admission of several requests"
    if step.new_block_ids:
        yield "blocks allocated while running"
    for id, hit in step.num_cached_tokens.items():
        if hit:
            yield (
                "prefix hit of a resumed request"
                if id in step.resumed_request_ids
                else ("prefix hit")
            )
    yield from ("preemption" for _ in step.preempted_request_ids)
    if len(step.preempted_request_ids) > 1:
        yield "preemption of several requests"
    yield from ("resume" for _ in step.resumed_request_ids)
    for reason, stop_reason in step.finished.values():
        by_token = reason == "stop" and stop_reason is not None
        yield "finish: stop by stop token" if by_token else f"finish: {reason}"


def _of_prefills(workload: Workload, trace: Trace) -> Iterator[str]:
    lengths = {request.id: len(request.prompt_token_ids) for request in workload.requests}
    computed: dict[str, int] = {}
    for step in trace.steps:
        for id in step.preempted_request_ids:
            if computed.get(id, 0) < lengths[id]:
                yield "preemption in mid-prefill"
        for id, count in step.num_scheduled_tokens.items():
            before = step.num_computed_tokens[id]
            computed[id] = before + count
            if before < lengths[id]:
                if id in step.new_request_ids:
                    whole = computed[id] >= lengths[id]
                    yield "prompt in one step" if whole else "prompt in chunks"
                elif id not in step.resumed_request_ids:
                    yield "running prefill continued in a chunk"


def _of_abort(request: WorkloadRequest, trace: Trace) -> Iterator[str]:
    abort = request.abort
    if abort is None or abort.step >= len(trace.steps):
        return
    now = trace.steps[abort.step]
    earlier = trace.steps[: abort.step]
    if any(request.id in step.finished for step in earlier):
        yield "abort of a finished request"
    elif abort.after_schedule and request.id in now.num_scheduled_tokens:
        yield "abort of a scheduled request, after schedule"
    elif abort.after_schedule and request.id in now.preempted_request_ids:
        yield "abort of a request preempted in this step, after schedule"
    elif abort.after_schedule:
        yield "abort of a waiting request, after schedule"
    elif earlier and request.id in earlier[-1].running:
        yield "abort of a running request"
    elif any(request.id in step.preempted_request_ids for step in earlier):
        yield "abort of a preempted request"
    elif request.grammar is not None and request.grammar.step >= abort.step:
        yield "abort of a blocked request"
    else:
        yield "abort of a waiting request"


def _of_resets(workload: Workload, trace: Trace) -> Iterator[str]:
    usable = workload.engine.num_gpu_blocks - 1
    for step in set(workload.reset_prefix_cache):
        if 0 < step < len(trace.steps):
            free = trace.steps[step - 1].num_free_blocks
            yield "prefix cache reset, " + ("all free" if free == usable else "blocks in use")
    for request in workload.requests:
        if request.grammar is not None and any(
            request.id in step.waiting and step.step < request.grammar.step for step in trace.steps
        ):
            yield "blocked request waits"


def _of_groups(workload: Workload, trace: Trace) -> Iterator[str]:
    specs = workload.engine.kv_cache_groups
    if specs is None:
        return
    for step in trace.steps:
        yield from ("groups: preemption" for _ in step.preempted_request_ids)
        for hit in step.num_cached_tokens.values():
            num_needed = [hit - spec.get_num_skipped_tokens(hit) for spec in specs]
            if min(num_needed) < hit:
                yield "groups: hit with blocks that are not needed"
            if hit and not min(num_needed):
                yield "groups: hit where a group has no block"
        for id, num_computed in step.num_computed_tokens.items():
            if id not in step.num_cached_tokens and any(
                spec.get_num_skipped_tokens(num_computed) >= spec.block_size for spec in specs
            ):
                yield "groups: blocks let go while running"


def _of_events(trace: Trace) -> Iterator[str]:
    for step in trace.steps:
        types = [event["type"] for event in step.kv_events]
        yield from ("event: removed" for name in types if name == "BlockRemoved")
        yield from ("event: cleared" for name in types if name == "AllBlocksCleared")
        if {"BlockRemoved", "BlockStored"} <= set(types):
            yield "event: removed, and stored in the same step"
        for event in step.kv_events:
            if event["type"] == "BlockStored":
                yield from _of_stored(event)


def _of_stored(event: dict[str, Any]) -> Iterator[str]:
    has_parent = event["parent_block_hash"] is not None
    yield "event: stored behind a parent" if has_parent else "event: stored at the start"
    if any(event["extra_keys"] or ()):
        yield "event: stored with extra keys"
    if len(event["block_hashes"]) * event["block_size"] < len(event["token_ids"]):
        yield "event: stored by a group that keeps less than is full"
