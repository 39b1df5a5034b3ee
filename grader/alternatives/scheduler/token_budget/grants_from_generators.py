"""Two generators offer what may be granted, and one place grants it; counts live in one table."""

from collections import OrderedDict
from dataclasses import dataclass
from itertools import chain


@dataclass
class SchedulerOutput:
    num_scheduled_tokens: dict[str, int]
    scheduled_spec_decode_tokens: dict[str, list[int]]


class Request(dict):
    """A row of counts."""

    __getattr__ = dict.__getitem__


class Scheduler:
    def __init__(
        self,
        max_num_seqs: int,
        max_num_batched_tokens: int,
        max_num_scheduled_tokens: int | None = None,
        max_model_len: int = 8192,
        long_prefill_token_threshold: int = 0,
        enable_chunked_prefill: bool = True,
    ) -> None:
        self.max_num_seqs = max_num_seqs
        self.max_model_len = max_model_len
        self.threshold = long_prefill_token_threshold
        self.chunks = enable_chunked_prefill
        self.whole_budget = max_num_batched_tokens
        if max_num_scheduled_tokens is not None:
            self.whole_budget = min(self.whole_budget, max_num_scheduled_tokens)
        self.left = 0
        self.running = OrderedDict()
        self.waiting = OrderedDict()

    def add_request(self, request_id: str, num_prompt_tokens: int, max_tokens: int) -> None:
        self.waiting[request_id] = Request(
            tokens=num_prompt_tokens,
            end=num_prompt_tokens + max_tokens,
            computed=0,
            drafts=(),
            chunk=False,
        )

    def _capped(self, tokens):
        return min(tokens, self.threshold) if self.threshold > 0 else tokens

    def _offers_of_running(self):
        for request_id, row in list(self.running.items()):
            tokens = self._capped(row.tokens + len(row.drafts) - row.computed)
            yield request_id, row, min(tokens, self.max_model_len - row.computed - 1)

    def _offers_of_waiting(self):
        while self.waiting and len(self.running) < self.max_num_seqs:
            request_id, row = next(iter(self.waiting.items()))
            tokens = self._capped(row.tokens)
            if not self.chunks and tokens > self.left:
                return
            self.running[request_id] = self.waiting.pop(request_id)
            yield request_id, row, tokens

    def schedule(self) -> SchedulerOutput:
        self.left = self.whole_budget
        output = SchedulerOutput({}, {})
        offers = chain(self._offers_of_running(), self._offers_of_waiting())
        while self.left and (offer := next(offers, None)):
            request_id, row, tokens = offer
            tokens = min(tokens, self.left)
            if tokens < 1:
                continue
            self.left -= tokens
            output.num_scheduled_tokens[request_id] = tokens
            row["computed"] += tokens
            num_drafts = row.computed - row.tokens
            if row.drafts and num_drafts > 0:
                output.scheduled_spec_decode_tokens[request_id] = list(row.drafts[:num_drafts])
            row.update(drafts=(), chunk=num_drafts < 0)
        return output

    def update_draft_token_ids(self, draft_token_ids: dict[str, list[int]]) -> None:
        for request_id, drafts in draft_token_ids.items():
            row = self.running.get(request_id) or self.waiting.get(request_id)
            if row is not None:
                row["drafts"] = () if row.chunk else tuple(drafts)

    def update_from_output(self, sampled: dict[str, list[int]]) -> None:
        for request_id, token_ids in sampled.items():
            if token_ids:
                row = self.running[request_id]
                row["tokens"] += len(token_ids)
                row["computed"] = row.tokens - 1
                if row.tokens >= min(row.end, self.max_model_len):
                    del self.running[request_id]
