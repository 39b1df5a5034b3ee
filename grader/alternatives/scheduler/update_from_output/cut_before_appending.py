"""What is sent is cut first, then taken in as one piece; requests are rows of one list."""

from collections import defaultdict
from dataclasses import dataclass
from types import SimpleNamespace

STOPPED, CAPPED, REPEATED = "FINISHED_STOPPED", "FINISHED_LENGTH_CAPPED", "FINISHED_REPETITION"
REASON = {STOPPED: "stop", CAPPED: "length", REPEATED: "repetition", None: None}


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


class Request(SimpleNamespace):
    pass


class KVCacheManager:
    def __init__(self):
        self.freed = []

    def free(self, request_id):
        self.freed.append(request_id)


def check_sequence_repetition(token_ids, repetition_detection):
    most, least, count = repetition_detection
    if most <= 0 or count < 2:
        return False
    backwards = list(reversed(token_ids))
    for size in range(least if least > 0 else 1, most + 1):
        if size * count > len(backwards):
            break
        pieces = {tuple(backwards[size * i : size * (i + 1)]) for i in range(count)}
        if len(pieces) == 1:
            return True
    return False


def check_stop(output_token_ids, num_prompt_tokens, params, max_model_len):
    last, length = output_token_ids[-1], len(output_token_ids)
    if params.eos_token_id is not None and last == params.eos_token_id:
        result = STOPPED, None
    elif params.stop_token_ids.count(last):
        result = STOPPED, last
    elif length >= params.max_tokens or length + num_prompt_tokens >= max_model_len:
        result = CAPPED, None
    elif (
        params.repetition_detection
        and length >= params.min_tokens
        and check_sequence_repetition(output_token_ids, params.repetition_detection)
    ):
        result = REPEATED, "repetition_detected"
    else:
        result = None, None
    return result


class Scheduler:
    def __init__(self, max_model_len, kv_cache_manager):
        self.max_model_len = max_model_len
        self.kv_cache_manager = kv_cache_manager
        self.rows = []
        self.ended = set()
        self.last = SchedulerOutput({}, {}, set())

    def add_request(self, request_id, num_prompt_tokens, sampling_params, client_index=0):
        self.rows.append(
            Request(
                id=request_id,
                prompt=num_prompt_tokens,
                params=sampling_params,
                client=client_index,
                tokens=(),
                computed=0,
                drafts=[],
            )
        )

    def schedule(self):
        self.last = SchedulerOutput({}, {}, self.ended)
        self.ended = set()
        for row in self.rows:
            end = row.prompt + len(row.tokens) + len(row.drafts)
            if end > row.computed:
                self.last.num_scheduled_tokens[row.id] = end - row.computed
                if row.drafts:
                    self.last.scheduled_spec_decode_tokens[row.id] = row.drafts
                row.computed = end
            row.drafts = []
        return self.last

    def update_draft_token_ids(self, draft_token_ids):
        for row in self.rows:
            if row.id in draft_token_ids:
                row.drafts = list(draft_token_ids[row.id])

    def update_from_output(self, sampled):
        outputs = defaultdict(list)
        ended = []
        by_id = {row.id: row for row in self.rows}
        for request_id in self.last.num_scheduled_tokens:
            row, new = by_id.get(request_id), sampled.get(request_id)
            if row is None or not new:
                continue
            wrong = len(self.last.scheduled_spec_decode_tokens.get(request_id, ())) + 1 - len(new)
            if request_id in self.last.scheduled_spec_decode_tokens:
                row.computed -= wrong
            sent, status, stop_reason = self._cut(row, tuple(new))
            row.tokens += sent
            outputs[row.client].append(
                EngineCoreOutput(request_id, list(sent), REASON[status], stop_reason)
            )
            if status:
                ended.append(row)
        for row in ended:
            self._leave(row)
        return dict(outputs)

    def _cut(self, row, new):
        for end in range(1, len(new) + 1):
            text = [*row.tokens, *new[:end]]
            status, stop_reason = check_stop(text, row.prompt, row.params, self.max_model_len)
            if status:
                return new[:end], status, stop_reason
        return new, None, None

    def finish_requests(self, request_ids):
        for row in list(self.rows):
            if request_ids is None or row.id in request_ids:
                self._leave(row)

    def _leave(self, row):
        self.rows.remove(row)
        self.ended.add(row.id)
        self.kv_cache_manager.free(row.id)
