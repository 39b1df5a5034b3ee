"""The kind `engine`: a workload on the reference engine.

Its inputs are a workload, and besides

- `stop_at: {a: [3]}`: the third token that `a` puts out is one of its stop tokens;
- `eos_at: {b: 4}`: the fourth token that `b` puts out ends every sequence.

What the model says depends on nothing but the tokens before it, so these are known beforehand. A
side may say `variants` (switches of `reference.variants`), `engine` (other limits), and `release`:
fields that the release's own configuration is given besides.
"""

from __future__ import annotations

import copy
from typing import Any

from grader.capstone.facts import facts_of
from grader.capstone.outcome import Data, Outcome
from reference.engine import run_workload
from reference.fields import Fields
from reference.tape import Tape, TapeInput
from reference.workload import Workload, parse_workload
from reference.workload_parser import WORKLOAD_KEYS

OWN_KEYS = ("stop_at", "eos_at")
SIDE_KEYS = ("variants", "engine", "release")


def run(inputs: Data, side: Data, source: str) -> Outcome:
    """The facts of the workload on the engine with this side's variants and limits."""
    workload = workload_of(inputs, side, source)
    trace = run_workload(workload)
    return Outcome(facts_of(workload, trace), workload, trace)


def workload_of(inputs: Data, side: Data, source: str) -> Workload:
    """The workload of one side; raises WorkloadError when there is none."""
    fields = Fields(side, source, "side", SIDE_KEYS)
    data = plain_workload(inputs, source)
    engine = {**data.get("engine", {}), **dict(_mapping(fields, "engine"))}
    if "variants" in fields:
        engine["variants"] = fields.value("variants")
    data["engine"] = engine
    return parse_workload(data, source)


def plain_workload(inputs: Data, source: str) -> dict[str, Any]:
    """The inputs as the plain data of a workload, with the stop tokens written out."""
    top = Fields(inputs, source, "inputs", (*WORKLOAD_KEYS, *OWN_KEYS))
    data = {key: value for key, value in copy.deepcopy(dict(inputs)).items() if key not in OWN_KEYS}
    stops, ends = _mapping(top, "stop_at"), _mapping(top, "eos_at")
    said = spoken(parse_workload(data, source)) if stops or ends else {}
    for request_id, places in stops.items():
        chosen = next(one for one in data["requests"] if one["id"] == request_id)
        chosen["stop_token_ids"] = [said[request_id][place - 1] for place in places]
    for request_id, place in ends.items():
        data.setdefault("model", {})["eos_token_id"] = said[request_id][place - 1]
    return data


def spoken(workload: Workload) -> dict[str, list[int]]:
    """What the model says to each prompt when nothing ends it before its `max_tokens`."""
    said = {}
    for request in workload.requests:
        tokens = list(request.prompt_token_ids)
        room = workload.engine.max_model_len - len(tokens)
        for _ in range(min(request.sampling_params.max_tokens or room, room)):
            # A tape of its own for each, with one block in which everything lies.
            tape = Tape(workload.engine.max_model_len + len(tokens), workload.model.vocab_size)
            tokens += tape.execute([TapeInput(request.id, tokens, [0], 0, len(tokens))])[request.id]
        said[request.id] = tokens[len(request.prompt_token_ids) :]
    return said


def described(inputs: Data, source: str) -> str:
    """The stop tokens, and where the model says them."""
    top = Fields(inputs, source, "inputs", (*WORKLOAD_KEYS, *OWN_KEYS))
    lines = [
        f"{name}: its stop tokens are what the model wants to say as output {_places(places)}."
        for name, places in _mapping(top, "stop_at").items()
    ]
    lines += [
        f"{name}: what the model wants to say as its output {place} is the end-of-sequence token."
        for name, place in _mapping(top, "eos_at").items()
    ]
    return "\n".join(lines)


def _places(places: list[int]) -> str:
    return " and ".join(map(str, places))


def _mapping(fields: Fields, name: str) -> dict[str, Any]:
    value = fields.value(name, {})
    if not isinstance(value, dict):
        raise fields.error(name, "no mapping", "a mapping")
    return value


__all__ = ["described", "plain_workload", "run", "workload_of"]
