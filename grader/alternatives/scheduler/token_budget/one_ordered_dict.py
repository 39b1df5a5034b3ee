"""One dictionary of requests in order, one walk over it; who runs is a mark on each request."""

from dataclasses import dataclass, field


@dataclass
class SchedulerOutput:
    num_scheduled_tokens: dict[str, int]
    scheduled_spec_decode_tokens: dict[str, list[int]]


@dataclass
class Request:
    known: int
    wanted_output: int
    output: int = 0
    computed: int = 0
    drafts: list[int] = field(default_factory=list)
    runs: bool = False
    chunked: bool = False


class Scheduler:
    def __init__(
        self,
        max_num_seqs,
        max_num_batched_tokens,
        max_num_scheduled_tokens=None,
        max_model_len=8192,
        long_prefill_token_threshold=0,
        enable_chunked_prefill=True,
    ):
        self.seats = max_num_seqs
        limits = (max_num_batched_tokens, max_num_scheduled_tokens)
        self.budget = min(limit for limit in limits if limit is not None)
        self.longest = max_model_len
        self.most = long_prefill_token_threshold or max_num_batched_tokens
        self.may_cut = enable_chunked_prefill
        # Requests are admitted in the order in which they come, so the running ones stand first.
        self.requests = {}

    def add_request(self, request_id, num_prompt_tokens, max_tokens):
        self.requests[request_id] = Request(num_prompt_tokens, max_tokens)

    def schedule(self):
        left, seats = self.budget, self.seats
        scheduled, drafted = {}, {}
        for name, request in self.requests.items():
            if left == 0:
                break
            if request.runs:
                seats -= 1
                tokens = self._of_running(request, left)
                if tokens:
                    sent = request.drafts[: max(request.computed + tokens - request.known, 0)]
                    request.drafts = []
                    if sent:
                        drafted[name] = sent
            else:
                if seats == 0:
                    break
                tokens = min(request.known, self.most)
                if tokens > left and not self.may_cut:
                    break
                tokens = min(tokens, left)
                request.runs = True
                seats -= 1
            if tokens:
                scheduled[name] = tokens
                left -= tokens
        for name, tokens in scheduled.items():
            request = self.requests[name]
            request.computed += tokens
            request.chunked = request.computed < request.known
        return SchedulerOutput(scheduled, drafted)

    def _of_running(self, request, left):
        wanted = request.known - request.computed + len(request.drafts)
        return min(wanted, self.most, left, self.longest - 1 - request.computed)

    def update_draft_token_ids(self, draft_token_ids):
        for name in draft_token_ids.keys() & self.requests.keys():
            request = self.requests[name]
            request.drafts = [] if request.chunked else list(draft_token_ids[name])

    def update_from_output(self, sampled):
        for name, tokens in sampled.items():
            if tokens:
                request = self.requests[name]
                request.output += len(tokens)
                request.known += len(tokens)
                request.computed = request.known - 1
                if request.output >= request.wanted_output or request.known >= self.longest:
                    del self.requests[name]
