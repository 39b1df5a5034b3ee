"""What ends a request is a table of questions; requests live in one dictionary, with no queues."""

from dataclasses import dataclass, field
from typing import Any

FINISH_REASONS = {
    "FINISHED_STOPPED": "stop",
    "FINISHED_LENGTH_CAPPED": "length",
    "FINISHED_ABORTED": "abort",
    "FINISHED_REPETITION": "repetition",
}


@dataclass
class SamplingParams:
    max_tokens: int
    min_tokens: int = 0
    eos_token_id: int | None = None
    stop_token_ids: tuple[int, ...] = ()
    repetition_detection: tuple[int, int, int] | None = None


@dataclass
class EngineCoreOutput:
    request_id: str
    new_token_ids: list[int]
    finish_reason: str | None = None
    stop_reason: int | str | None = None


@dataclass
class SchedulerOutput:
    num_scheduled_tokens: dict[str, int]
    scheduled_spec_decode_tokens: dict[str, list[int]]
    finished_req_ids: set[str]


@dataclass
class Request:
    prompt: int
    params: SamplingParams
    client: int
    output: list[int] = field(default_factory=list)
    drafts: list[int] = field(default_factory=list)
    computed: int = 0

    @property
    def known(self) -> int:
        return self.prompt + len(self.output)


class KVCacheManager:
    def __init__(self) -> None:
        self.freed: list[str] = []

    def free(self, request_id: str) -> None:
        self.freed.append(request_id)


def check_sequence_repetition(
    token_ids: list[int], repetition_detection: tuple[int, int, int]
) -> bool:
    largest, smallest, copies = repetition_detection
    if copies < 2:
        return False
    # A tail repeats with a period of `size` when each of its tokens is that `size` before it.
    agreeing = {}
    for size in range(max(smallest, 1), largest + 1):
        length = size
        while length < len(token_ids) and token_ids[-length - 1 + size] == token_ids[-length - 1]:
            length += 1
        agreeing[size] = length
    return any(len(token_ids) >= size and agreeing[size] >= size * copies for size in agreeing)


def check_stop(
    output_token_ids: list[int], num_prompt_tokens: int, params: SamplingParams, max_model_len: int
) -> tuple[str | None, int | str | None]:
    token, length = output_token_ids[-1], len(output_token_ids)
    most = min(params.max_tokens, max_model_len - num_prompt_tokens)
    repetition = params.repetition_detection
    questions = [
        (lambda: token == params.eos_token_id, ("FINISHED_STOPPED", None)),
        (lambda: token in set(params.stop_token_ids), ("FINISHED_STOPPED", token)),
        (lambda: length >= most, ("FINISHED_LENGTH_CAPPED", None)),
        (lambda: length < params.min_tokens or repetition is None, (None, None)),
        (
            lambda: check_sequence_repetition(output_token_ids, repetition),
            ("FINISHED_REPETITION", "repetition_detected"),
        ),
    ]
    return next((answer for asks, answer in questions if asks()), (None, None))


class Scheduler:
    def __init__(self, max_model_len: int, kv_cache_manager: Any) -> None:
        self.longest = max_model_len
        self.manager = kv_cache_manager
        self.alive: dict[str, Request] = {}
        self.news: list[str] = []
        self.step: list[tuple[str, Request, list[int]]] = []

    def add_request(
        self,
        request_id: str,
        num_prompt_tokens: int,
        sampling_params: SamplingParams,
        client_index: int = 0,
    ) -> None:
        self.alive[request_id] = Request(num_prompt_tokens, sampling_params, client_index)

    def schedule(self) -> SchedulerOutput:
        output = SchedulerOutput({}, {}, set(self.news))
        self.news, self.step = [], []
        for request_id, request in self.alive.items():
            tokens = request.known + len(request.drafts) - request.computed
            if tokens > 0:
                self.step.append((request_id, request, request.drafts))
                output.num_scheduled_tokens[request_id] = tokens
                if request.drafts:
                    output.scheduled_spec_decode_tokens[request_id] = request.drafts
                request.computed += tokens
            request.drafts = []
        return output

    def update_draft_token_ids(self, draft_token_ids: dict[str, list[int]]) -> None:
        for request_id in self.alive.keys() & draft_token_ids.keys():
            self.alive[request_id].drafts = list(draft_token_ids[request_id])

    def update_from_output(
        self, sampled: dict[str, list[int]]
    ) -> dict[int, list[EngineCoreOutput]]:
        outputs: dict[int, list[EngineCoreOutput]] = {}
        for request_id, request, drafts in self.step:
            came = sampled.get(request_id)
            if not came or self.alive.get(request_id) is not request:
                continue
            if drafts:
                # All but the last of what came are drafts that were right.
                request.computed += len(came) - 1 - len(drafts)
            status, stop_reason, sent = None, None, 0
            while status is None and sent < len(came):
                request.output.append(came[sent])
                sent += 1
                status, stop_reason = check_stop(
                    request.output, request.prompt, request.params, self.longest
                )
            if status is not None:
                self._end(request_id)
            outputs.setdefault(request.client, []).append(
                EngineCoreOutput(
                    request_id, list(came[:sent]), FINISH_REASONS.get(status or ""), stop_reason
                )
            )
        return outputs

    def finish_requests(self, request_ids: list[str] | None) -> None:
        for request_id in list(self.alive) if request_ids is None else request_ids:
            if request_id in self.alive:
                self._end(request_id)

    def _end(self, request_id: str) -> None:
        del self.alive[request_id]
        self.manager.free(request_id)
        self.news.append(request_id)
