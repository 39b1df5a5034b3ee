"""From the engine core's outputs to what the clients see."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from reference.detokenizer import Decoder, IncrementalDetokenizer
from reference.logprobs import LogprobsProcessor
from reference.output import EngineCoreOutput, FinishReason
from reference.outputs import CompletionOutput, RequestOutput
from reference.parallel_sampling import ParentRequest
from reference.sampling_params import RequestOutputKind
from reference.wire import EngineCoreRequest


class RequestOutputCollector:
    """Between the processor and one client: a single place, in which news are merged.

    A client that is slow finds one output that says all it has missed.
    """

    def __init__(self, output_kind: RequestOutputKind) -> None:
        self._aggregate = output_kind == "DELTA"
        self._output: RequestOutput | Exception | None = None

    def put(self, output: RequestOutput | Exception) -> None:
        """Adds an output to what waits. An exception takes its place, and lets nothing follow."""
        if self._output is None or isinstance(output, Exception):
            self._output = output
        elif isinstance(self._output, RequestOutput):
            self._output.add(output, aggregate=self._aggregate)

    def get_nowait(self) -> RequestOutput | None:
        """Takes what waits, if anything does; raises it if it is an exception."""
        output, self._output = self._output, None
        if isinstance(output, Exception):
            raise output
        return output


@dataclass(slots=True)
class OutputProcessorOutput:
    """What is left to do: outputs without a queue to deliver, requests for the core to abort."""

    request_outputs: list[RequestOutput] = field(default_factory=list)
    reqs_to_abort: list[str] = field(default_factory=list)


class Detokenizer(Protocol):
    """What the processor needs of a request's detokenizer."""

    @property
    def output_token_ids(self) -> list[int]: ...
    def num_output_tokens(self) -> int: ...
    def update(self, new_token_ids: Sequence[int], stop_terminated: bool) -> str | None: ...
    def get_next_output_text(self, finished: bool, delta: bool) -> str: ...


class RequestState:
    """What the processor keeps of a request: its text so far, and how much of it was shown."""

    def __init__(
        self,
        request: EngineCoreRequest,
        detokenizer: Detokenizer,
        prompt: str | None = None,
        parent_req: ParentRequest | None = None,
        request_index: int = 0,
        queue: RequestOutputCollector | None = None,
        stream_interval: int = 1,
    ) -> None:
        params = request.sampling_params
        self.request_id = request.request_id
        self.external_req_id = request.external_req_id or request.request_id
        self.prompt = prompt
        self.prompt_token_ids = request.prompt_token_ids
        self.detokenizer = detokenizer
        self.logprobs_processor = LogprobsProcessor.from_params(params)
        self.parent_req = parent_req
        self.request_index = request_index
        self.queue = queue
        self.output_kind = params.output_kind
        self.stream_interval = max(stream_interval, params.stream_interval or 1)
        self.sent_tokens_offset = 0

    def make_request_output(
        self,
        new_token_ids: Sequence[int],
        finish_reason: FinishReason | None,
        stop_reason: int | str | None,
    ) -> RequestOutput | None:
        """What the client is to see now; None for nothing."""
        finished = finish_reason is not None
        if not finished and (self.output_kind == "FINAL_ONLY" or not self._is_due()):
            return None
        if self.stream_interval > 1 and self.output_kind == "DELTA":
            new_token_ids = self.detokenizer.output_token_ids[self.sent_tokens_offset :]
            self.sent_tokens_offset = self.detokenizer.num_output_tokens()
        completion = self._new_completion_output(new_token_ids, finish_reason, stop_reason)
        if self.parent_req is None:
            return self._new_request_output([completion], finished)
        outputs, finished = self.parent_req.get_outputs(self.request_id, completion)
        return self._new_request_output(outputs, finished) if outputs else None

    def _is_due(self) -> bool:
        """Whether enough is new: the very first token is, and what makes the interval full.

        Only deltas count as shown, so that nothing else is ever held back.
        """
        num_new = self.detokenizer.num_output_tokens() - self.sent_tokens_offset
        return self.sent_tokens_offset == 0 or num_new >= self.stream_interval

    def _new_completion_output(
        self,
        new_token_ids: Sequence[int],
        finish_reason: FinishReason | None,
        stop_reason: int | str | None,
    ) -> CompletionOutput:
        finished = finish_reason is not None
        delta = self.output_kind == "DELTA"
        token_ids = list(new_token_ids if delta else self.detokenizer.output_token_ids)
        logprobs = self.logprobs_processor
        return CompletionOutput(
            index=self.request_index,
            text=self.detokenizer.get_next_output_text(finished, delta),
            token_ids=token_ids,
            logprobs=logprobs.last(len(token_ids)) if delta else logprobs.all(),
            cumulative_logprob=logprobs.cumulative_logprob,
            finish_reason=str(finish_reason) if finished else None,
            stop_reason=stop_reason if finished else None,
        )

    def _new_request_output(self, outputs: list[CompletionOutput], finished: bool) -> RequestOutput:
        return RequestOutput(
            self.external_req_id, self.prompt, self.prompt_token_ids, outputs, finished
        )


class OutputProcessor:
    """Turns the core's outputs into the clients', and tells the core what is over for them.

    ``stream_interval`` is how many new tokens make an output, at least, after the first one.

    >>> from reference.sampling_params import SamplingParams
    >>> from reference.tokenizer import Tokenizer
    >>> processor = OutputProcessor(Tokenizer([bytes([byte]) for byte in range(256)]))
    >>> processor.add_request(EngineCoreRequest("a", [1], SamplingParams(stop=("lo",))))
    >>> processed = processor.process_outputs([EngineCoreOutput("a", list(b"hello"))])
    >>> processed.request_outputs[0].outputs[0].text, processed.reqs_to_abort
    ('hel', ['a'])
    """

    def __init__(
        self,
        tokenizer: Decoder | None,
        stream_interval: int = 1,
        detokenizer: Callable[..., Detokenizer] = IncrementalDetokenizer,
    ) -> None:
        self.tokenizer = tokenizer
        self.stream_interval = stream_interval
        self.request_states: dict[str, RequestState] = {}
        self.parent_requests: dict[str, ParentRequest] = {}
        self.external_req_ids: dict[str, list[str]] = {}
        self._detokenizer = detokenizer

    def get_num_unfinished_requests(self) -> int:
        """How many requests are still expected to bring something."""
        return len(self.request_states)

    def add_request(
        self,
        request: EngineCoreRequest,
        prompt: str | None = None,
        parent_req: ParentRequest | None = None,
        request_index: int = 0,
        queue: RequestOutputCollector | None = None,
    ) -> None:
        """Makes ready for a request's outputs, before the engine core hears of it."""
        params = request.sampling_params
        detokenizer = self._detokenizer(
            self.tokenizer if params.detokenize else None,
            request.prompt_token_ids,
            stop=params.stop,
            min_tokens=params.min_tokens,
            include_stop_str_in_output=params.include_stop_str_in_output,
            skip_special_tokens=params.skip_special_tokens,
        )
        state = RequestState(
            request, detokenizer, prompt, parent_req, request_index, queue, self.stream_interval
        )
        self.request_states[request.request_id] = state
        if parent_req is not None:
            self.parent_requests[parent_req.request_id] = parent_req
        self.external_req_ids.setdefault(state.external_req_id, []).append(request.request_id)

    def process_outputs(
        self, engine_core_outputs: Iterable[EngineCoreOutput]
    ) -> OutputProcessorOutput:
        """Takes in what a step has brought. What comes for a request that is over is dropped."""
        processed = OutputProcessorOutput()
        for output in engine_core_outputs:
            state = self.request_states.get(output.request_id)
            if state is None:
                continue
            finish_reason, stop_reason = output.finish_reason, output.stop_reason
            stop_string = state.detokenizer.update(
                output.new_token_ids, finish_reason is FinishReason.STOP
            )
            if stop_string:
                finish_reason, stop_reason = FinishReason.STOP, stop_string
            state.logprobs_processor.update(output.new_logprobs)
            request_output = state.make_request_output(
                output.new_token_ids, finish_reason, stop_reason
            )
            if request_output is not None:
                self._deliver(state, request_output, processed.request_outputs)
            if finish_reason is not None:
                self._finish_request(state)
                if not output.finished:
                    processed.reqs_to_abort.append(output.request_id)
        return processed

    def abort_requests(self, request_ids: Iterable[str], internal: bool) -> list[str]:
        """Ends requests at a client's wish; unknown ids are passed over.

        An external id stands for all requests that came under it, an internal one for a request
        or for a parent's children. With a queue, each gets a last output.

        Returns:
            The ids that the engine core is to abort.
        """
        aborted: list[str] = []
        for request_id in request_ids:
            if not internal:
                ids = list(self.external_req_ids.get(request_id, ()))
            elif request_id in self.parent_requests and request_id not in self.request_states:
                ids = self._children(self.parent_requests.pop(request_id))
            else:
                ids = [request_id]
            aborted += [each for each in ids if self._abort(each)]
        return aborted

    def _children(self, parent: ParentRequest) -> list[str]:
        return [i for i in self.request_states if i in parent.child_requests]

    def _abort(self, request_id: str) -> bool:
        state = self.request_states.get(request_id)
        if state is None:
            return False
        self._forget(state)
        if state.queue is not None:
            output = state.make_request_output([], FinishReason.ABORT, None)
            if output is not None:
                state.queue.put(output)
        return True

    @staticmethod
    def _deliver(
        state: RequestState, output: RequestOutput, undelivered: list[RequestOutput]
    ) -> None:
        if state.queue is not None:
            state.queue.put(output)
        else:
            undelivered.append(output)

    def _finish_request(self, state: RequestState) -> None:
        self._forget(state)
        parent = state.parent_req
        if parent is not None and not parent.child_requests:
            self.parent_requests.pop(parent.request_id, None)

    def _forget(self, state: RequestState) -> None:
        del self.request_states[state.request_id]
        ids = self.external_req_ids[state.external_req_id]
        ids.remove(state.request_id)
        if not ids:
            del self.external_req_ids[state.external_req_id]
