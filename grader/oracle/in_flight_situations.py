"""What happened to outputs in flight and to drafts in a run, by name."""

from collections.abc import Iterator

from reference.trace import StepRecord, Trace
from reference.workload import Workload

IN_FLIGHT_SITUATIONS = (
    "in flight: preemption",
    "in flight: output comes back to a preempted request",
    "in flight: output ends a preempted request",
    "in flight: output thrown away",
    "in flight: request aborted",
    "in flight: step too many",
    "in flight: last step foreseen",
    "drafts: all accepted",
    "drafts: some rejected",
    "drafts: cut to fit",
    "drafts: none yet, but their place",
    "drafts: stopped among them",
)


def of_steps_in_flight(workload: Workload, trace: Trace) -> Iterator[str]:
    """What the engine went through because a step was decided before the last came back."""
    if not workload.engine.async_scheduling:
        return
    aborted = {request.id for request in workload.requests if request.abort is not None}
    for step, following in zip(trace.steps, trace.steps[1:], strict=False):
        for id in step.num_scheduled_tokens:
            yield from _of_request(workload, id, step, following)
            if id in aborted and id in following.finished_request_ids:
                yield "in flight: request aborted"


def _of_request(
    workload: Workload, id: str, step: StepRecord, following: StepRecord
) -> Iterator[str]:
    if id in following.preempted_request_ids:
        yield "in flight: preemption"
        if id in step.finished:
            yield "in flight: output ends a preempted request"
        elif id in step.sampled_token_ids:
            yield "in flight: output comes back to a preempted request"
        elif following.step in workload.reset_running_requests:
            yield "in flight: output thrown away"
    elif id in step.finished:
        foreseen = id not in following.num_scheduled_tokens
        yield "in flight: last step foreseen" if foreseen else "in flight: step too many"


def of_drafts(workload: Workload, trace: Trace) -> Iterator[str]:
    """What became of drafts."""
    most = workload.engine.num_speculative_tokens
    for step in trace.steps:
        for id, drafts in step.scheduled_spec_decode_tokens.items():
            num_sampled = len(step.sampled_token_ids.get(id, ()))
            if id in step.num_cached_tokens:
                yield "drafts: none yet, but their place"
            elif id in step.finished and step.finished[id][0] != "length":
                yield "drafts: stopped among them"
            elif num_sampled:
                accepted_all = num_sampled == len(drafts) + 1
                yield "drafts: all accepted" if accepted_all else "drafts: some rejected"
            if len(drafts) < most:
                yield "drafts: cut to fit"
