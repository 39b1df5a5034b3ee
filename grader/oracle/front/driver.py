"""Runs a script on the front of one of the two engines, and tells all that comes of it.

A script is plain data, and so is what it comes to. The same code drives both engines; a `Front`
makes their objects, which have the same methods.
"""

from collections.abc import Callable, Iterable
from typing import Any, Protocol

Script = dict[str, Any]


class Front(Protocol):
    """Makes one engine's objects from plain data."""

    def detokenizer(self, script: Script) -> Any:
        """A detokenizer; its ``offsets()`` are its two places, or None where it has none."""

    def output_processor(self, stream_interval: int) -> Any: ...
    def add_request(self, processor: Any, request: Script) -> list[str]:
        """Adds a request, with its children if it has several; the core's ids of them."""

    def collector(self, processor: Any, request: Script) -> Any: ...
    def core_outputs(self, outputs: list[Script]) -> list[Any]: ...
    def plain_logprobs(self, logprobs: Any) -> Any: ...
    def process_inputs(self, script: Script) -> Script: ...
    def engine_core(self, script: Script) -> Any:
        """A core's loop, its executor's log among what it has."""


#: Turns that a core is let go on for when all that was to come has come.
LAST_TURNS = 40


def run(kind: str, script: Script, front: Front) -> Any:
    """What a script of this kind comes to."""
    return SCRIPTS[kind](script, front)


def detokenize(script: Script, front: Front) -> list[Any]:
    """Chunks of tokens, and after each the text as it is shown and as it is known."""
    detokenizer = front.detokenizer(script)
    told: list[Any] = []
    for token_ids, stop_terminated in script["chunks"]:
        stop = detokenizer.update(list(token_ids), stop_terminated)
        finished = stop is not None or stop_terminated
        told.append(
            {
                "stop": stop,
                "shown": detokenizer.get_next_output_text(finished, script["delta"]),
                "text": detokenizer.output_text,
                "token_ids": list(detokenizer.output_token_ids),
                "num_output_tokens": detokenizer.num_output_tokens(),
            }
        )
        if finished:
            break
    return told


def process_outputs(script: Script, front: Front) -> list[Any]:
    """Outputs of the core, aborts, and clients that look when they like."""
    processor = front.output_processor(script["stream_interval"])
    requests = script["requests"]
    ids: dict[int, list[str]] = {}
    queues: dict[int, Any] = {}
    told: list[Any] = []
    for operation, *rest in script["operations"]:
        if operation == "add":
            request = requests[rest[0]]
            if request["queue"]:
                queues[rest[0]] = request["collector"] = front.collector(processor, request)
            ids[rest[0]] = front.add_request(processor, request)
        elif operation == "outputs":
            outputs = [{**each, "request_id": ids[each["of"]][each["child"]]} for each in rest[0]]
            processed = processor.process_outputs(front.core_outputs(outputs))
            told.append([_plain(each, front) for each in processed.request_outputs])
            told.append(list(processed.reqs_to_abort))
        elif operation == "abort":
            told.append(sorted(processor.abort_requests(rest[0], internal=rest[1])))
        elif operation == "get" and rest[0] in queues:
            output = queues[rest[0]].get_nowait()
            told.append(None if output is None else _plain(output, front))
        told.append(processor.get_num_unfinished_requests())
    for request in requests:
        request.pop("collector", None)
    return told


def process_inputs(script: Script, front: Front) -> Script:
    """A request as it goes to the core, or the name of what was wrong with it."""
    return front.process_inputs(script)


def engine_core(script: Script, front: Front) -> Script:
    """What comes to a core before each of its turns, and what goes out in each."""
    core = front.engine_core(script)
    told: list[Any] = []
    for operations in [*script["turns"], *([] for _ in range(LAST_TURNS))]:
        for operation, *arguments in operations:
            getattr(core, operation)(*arguments)
        try:
            going = core.turn()
        except RuntimeError as error:
            told.append(str(error))
            break
        # What goes to different clients in one turn may go in any order.
        told.append([going, sorted(core.outputs(), key=lambda output: output[0])])
        if not going:
            break
    return {"turns": told, "executed": core.executed, "unfinished": core.unfinished()}


def _plain(output: Any, front: Front) -> Script:
    completions: Iterable[Any] = output.outputs
    if any(each.finish_reason == "abort" for each in completions):
        # A request's children are aborted in no order.
        completions = sorted(completions, key=lambda each: each.index)
    return {
        "request_id": output.request_id,
        "finished": output.finished,
        "outputs": [
            {
                "index": each.index,
                "text": each.text,
                "token_ids": list(each.token_ids),
                "logprobs": front.plain_logprobs(each.logprobs),
                "cumulative_logprob": each.cumulative_logprob,
                "finish_reason": each.finish_reason,
                "stop_reason": each.stop_reason,
            }
            for each in completions
        ],
    }


SCRIPTS: dict[str, Callable[[Script, Front], Any]] = {
    "detokenizer": detokenize,
    "output_processor": process_outputs,
    "input_processor": process_inputs,
    "engine_core": engine_core,
}
