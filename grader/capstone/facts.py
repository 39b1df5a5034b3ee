"""The facts of a run of the engine: what questions may ask of a trace.

Of the run: `steps` in which tokens were scheduled, `scheduled_tokens`, `preemptions`, `hit_tokens`
found by admissions, `max_running` requests at once; `queries`, `hits`, `preempted_queries` and
`preempted_hits` as the prefix cache recorded them; `admission_order`, `first_token_order` and
`finish_order`, each request once.

Of each request, as `finish_step.a`: `admitted_step`, `first_token_step`, `finish_step`,
`finish_reason` (`never` while there is none), `num_output_tokens`, `scheduled_tokens`,
`preemptions`, `hit_tokens`.

Of each step, as `waiting.3`: `tokens`, `scheduled` (the ids that got any), and `waiting`, in order,
when it is over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from grader.capstone.outcome import Facts
from reference.trace import StepRecord, Trace
from reference.workload import Workload

NEVER = "never"


def facts_of(workload: Workload, trace: Trace) -> Facts:
    """All facts of a trace."""
    steps = trace.steps
    facts: Facts = {
        "steps": sum(1 for step in steps if step.num_scheduled_tokens),
        "scheduled_tokens": sum(sum(step.num_scheduled_tokens.values()) for step in steps),
        "preemptions": sum(len(step.preempted_request_ids) for step in steps),
        "hit_tokens": sum(sum(step.num_cached_tokens.values()) for step in steps),
        "max_running": max((len(step.num_scheduled_tokens) for step in steps), default=0),
        "queries": sum(step.prefix_cache_queries for step in steps),
        "hits": sum(step.prefix_cache_hits for step in steps),
        "preempted_queries": sum(step.preempted_queries for step in steps),
        "preempted_hits": sum(step.preempted_hits for step in steps),
        "admission_order": _once(id for step in steps for id in step.new_request_ids),
        "first_token_order": _once(id for step in steps for id in step.sampled_token_ids),
        "finish_order": _once(id for step in steps for id in step.finished),
    }
    for request in workload.requests:
        facts |= _of_request(request.id, steps, trace)
    for step in steps:
        facts[f"tokens.{step.step}"] = sum(step.num_scheduled_tokens.values())
        facts[f"scheduled.{step.step}"] = list(step.num_scheduled_tokens)
        facts[f"waiting.{step.step}"] = list(step.waiting)
    return facts


def _of_request(id: str, steps: list[StepRecord], trace: Trace) -> Facts:
    reason = next((step.finished[id][0] for step in steps if id in step.finished), NEVER)
    return {
        f"admitted_step.{id}": _first(steps, lambda step: id in step.new_request_ids),
        f"first_token_step.{id}": _first(steps, lambda step: id in step.sampled_token_ids),
        f"finish_step.{id}": _first(steps, lambda step: id in step.finished),
        f"finish_reason.{id}": str(reason),
        f"num_output_tokens.{id}": len(trace.outputs.get(id, ())),
        f"scheduled_tokens.{id}": sum(step.num_scheduled_tokens.get(id, 0) for step in steps),
        f"preemptions.{id}": sum(id in step.preempted_request_ids for step in steps),
        f"hit_tokens.{id}": sum(step.num_cached_tokens.get(id, 0) for step in steps),
    }


def _first(steps: list[StepRecord], holds: Callable[[StepRecord], bool]) -> int | None:
    return next((step.step for step in steps if holds(step)), None)


def _once(ids: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(ids))
