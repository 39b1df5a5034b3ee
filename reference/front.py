"""The engine's front: what clients ask for on its way to the core, and what they see of it."""

from collections.abc import Callable, Sequence
from typing import Any

from reference.engine import Parts
from reference.output import EngineCoreOutput
from reference.output_processor import RequestOutputCollector
from reference.outputs import RequestOutput
from reference.tokenizer import default_tokenizer
from reference.wire import EngineCoreRequest
from reference.workload import Workload, WorkloadRequest

#: Told of each place that a request passes: the place, the core's id of it, and what happened.
Observer = Callable[[str, str, dict[str, Any]], None]


def nobody(_place: str, _request_id: str, _facts: dict[str, Any]) -> None:
    """Watches nothing."""


class Front:
    """Serves the clients of a workload; the core is reached by two functions alone.

    Attributes:
        shown: what each client saw, output by output, by the id that it gave its request.
        core_ids: the core's ids of each request, one for each sequence.
    """

    def __init__(
        self,
        workload: Workload,
        parts: Parts,
        send: Callable[[EngineCoreRequest], None],
        send_aborts: Callable[[list[str]], None],
        observe: Observer = nobody,
    ) -> None:
        tokenizer = default_tokenizer()
        self.shown: dict[str, list[RequestOutput]] = {each.id: [] for each in workload.requests}
        self.core_ids: dict[str, list[str]] = {}
        self._send = send
        self._send_aborts = send_aborts
        self._observe = observe
        self._collectors: dict[str, RequestOutputCollector] = {}
        self._fan_out = parts.fan_out
        self._input_processor = parts.input_processor(
            workload.engine.max_model_len,
            workload.model.vocab_size,
            eos_token_id=workload.model.eos_token_id,
            tokenizer=tokenizer,
        )
        self._output_processor = parts.output_processor(tokenizer, detokenizer=parts.detokenizer)

    @property
    def num_unfinished(self) -> int:
        """How many sequences are still to come to their end."""
        return int(self._output_processor.get_num_unfinished_requests())

    def add_request(self, request: WorkloadRequest) -> None:
        """Sends a client's request to the core, in several if it asks for several sequences.

        Raises:
            VLLMValidationError: it cannot be served.
        """
        prompt = list(request.prompt_token_ids) if request.prompt is None else request.prompt
        made: EngineCoreRequest = self._input_processor.process_inputs(
            request.id,
            prompt,
            request.sampling_params,
            arrival_time=request.arrival_time,
            priority=request.priority,
            lora_name=request.lora_name,
            cache_salt=request.cache_salt,
            mm_features=request.mm_features,
        )
        self._input_processor.assign_request_id(made)
        self._observe("process_inputs", made.request_id, {"request": request, "made": made})
        collector = RequestOutputCollector(request.sampling_params.output_kind)
        self._collectors[request.id] = collector
        parent, children = self._fan_out(made) if made.sampling_params.n > 1 else (None, [made])
        for index, child in enumerate(children):
            if parent is not None:
                self._observe("fan_out", child.request_id, {"parent": made.request_id})
            self._output_processor.add_request(child, request.prompt, parent, index, collector)
            self._observe("output_processor", child.request_id, {"request": child})
            self.core_ids.setdefault(request.id, []).append(child.request_id)
            self._observe("send", child.request_id, {"request": child})
            self._send(child)

    def abort(self, request_id: str) -> None:
        """A client gives up, by the id it knows."""
        aborted = self._output_processor.abort_requests([request_id], internal=False)
        self._abort_in_core(aborted, "the client gave up")

    def take_in(self, outputs: Sequence[EngineCoreOutput]) -> list[RequestOutput]:
        """Makes text of a step's outputs; what the clients, who look at once, see of it."""
        for output in outputs:
            self._observe("update_from_output", output.request_id, {"output": output})
        processed = self._output_processor.process_outputs(outputs)
        seen = self._look()
        self._abort_in_core(processed.reqs_to_abort, "a stop string is complete")
        return seen

    def _abort_in_core(self, request_ids: list[str], reason: str) -> None:
        if not request_ids:
            return
        self._send_aborts(request_ids)
        for request_id in request_ids:
            self._observe("abort", request_id, {"reason": reason})

    def _look(self) -> list[RequestOutput]:
        seen = []
        for request_id, collector in self._collectors.items():
            output = collector.get_nowait()
            if output is not None:
                self.shown[request_id].append(output)
                self._observe("shown", request_id, {"output": output})
                seen.append(output)
        return seen
