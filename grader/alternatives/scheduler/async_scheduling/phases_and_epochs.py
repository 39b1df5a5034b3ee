"""A request is in a phase, prefill or decode; each preemption begins an epoch; steps have one."""

from dataclasses import dataclass


@dataclass
class SchedulerOutput:
    num_scheduled_tokens: dict[str, int]
    scheduled_spec_decode_tokens: dict[str, list[int]]


class Request:
    """In a prefill ``progress`` is what is computed, in a decode what is counted on."""

    def __init__(self, name: str, prompt: int, most: int, eos: int | None) -> None:
        self.name, self.prompt, self.most, self.eos = name, prompt, most, eos
        self.said: list[int] = []
        self.epoch = 0
        #: The first epoch whose outputs are wanted.
        self.wanted_from = 0
        self.begin()
        self.in_flight: list[tuple[int, int]] = []

    def begin(self) -> None:
        self.decodes = False
        self.progress = 0

    def known(self) -> int:
        return self.prompt + len(self.said)

    def computed(self) -> int:
        return self.known() - 1 + self.progress if self.decodes else self.progress

    def tokens_of_old_epochs(self) -> int:
        return sum(tokens for epoch, tokens in self.in_flight if epoch < self.epoch)

    def is_awaited(self) -> bool:
        return any(self.wanted_from <= epoch < self.epoch for epoch, _ in self.in_flight)


class Scheduler:
    """One list of requests that wait: (0, n) for those passed over, (1, n) for the others."""

    def __init__(
        self, max_model_len: int, max_num_scheduled_tokens: int, num_spec_tokens: int = 0
    ) -> None:
        self.max_model_len = max_model_len
        self.max_num_scheduled_tokens = max_num_scheduled_tokens
        self.num_spec_tokens = num_spec_tokens
        self.requests: dict[str, Request] = {}
        self.running: list[str] = []
        self.places: dict[str, tuple[int, int]] = {}
        self.last = self.first = 0
        self.steps: list[list[tuple[Request, int, int, int]]] = []

    def add_request(
        self,
        request_id: str,
        num_prompt_tokens: int,
        max_tokens: int,
        eos_token_id: int | None = None,
    ) -> None:
        self.requests[request_id] = Request(request_id, num_prompt_tokens, max_tokens, eos_token_id)
        self.last += 1
        self.places[request_id] = (1, self.last)

    def _line(self) -> list[str]:
        return sorted(self.places, key=lambda name: self.places[name])

    def queues(self) -> tuple[list[str], list[str], list[str]]:
        line = self._line()
        skipped = [name for name in line if self.places[name][0] == 0]
        return list(self.running), skipped, line[len(skipped) :]


class AsyncScheduler(Scheduler):
    def schedule(self) -> SchedulerOutput:
        output = SchedulerOutput({}, {})
        step: list[tuple[Request, int, int, int]] = []
        left = self.max_num_scheduled_tokens
        for name in self.running:
            left -= self._decode_or_go_on(self.requests[name], left, output, step)
        passed_over = []
        for name in self._line():
            if left == 0:
                break
            if self.requests[name].is_awaited():
                passed_over.append(name)
                continue
            del self.places[name]
            self.running.append(name)
            left -= self._decode_or_go_on(self.requests[name], left, output, step)
        for name in reversed(passed_over):
            self.first -= 1
            self.places[name] = (0, self.first)
        self.steps.append(step)
        return output

    def _decode_or_go_on(
        self,
        request: Request,
        left: int,
        output: SchedulerOutput,
        step: list[tuple[Request, int, int, int]],
    ) -> int:
        drafts = 0
        if request.decodes:
            if request.progress and len(request.said) + 1 >= request.most:
                return 0
            room = min(left, self.max_model_len - 1 - request.computed())
            if room <= 0:
                return 0
            tokens = min(1 + self.num_spec_tokens, room)
            drafts = tokens - 1
            request.progress += tokens
        else:
            tokens = min(request.known() - request.progress, left)
            if tokens == 0:
                return 0
            request.progress += tokens
            if request.progress == request.known():
                request.decodes, request.progress = True, 1
        request.in_flight.append((request.epoch, tokens))
        output.num_scheduled_tokens[request.name] = tokens
        if drafts:
            output.scheduled_spec_decode_tokens[request.name] = drafts * [-1]
        step.append((request, request.epoch, drafts, tokens))
        return tokens

    def preempt(self, request_id: str, drop_stale_output: bool = False) -> None:
        request = self.requests[request_id]
        self.running.remove(request_id)
        self.first -= 1
        # Before all that wait and have not been passed over.
        self.places[request_id] = (1, self.first)
        dropping = any(epoch < request.wanted_from for epoch, _ in request.in_flight)
        request.epoch += 1
        if drop_stale_output or dropping:
            request.wanted_from = request.epoch
        request.begin()

    def update_from_output(self, sampled: dict[str, list[int]]) -> dict[str, list[int]]:
        given: dict[str, list[int]] = {}
        for request, epoch, drafts, _ in self.steps.pop(0):
            if self.requests.get(request.name) is not request:
                continue
            request.in_flight.pop(0)
            tokens = sampled.get(request.name, [])
            if epoch < request.wanted_from or not tokens:
                continue
            given[request.name] = []
            for token in tokens:
                given[request.name].append(token)
                request.said.append(token)
                if (
                    token == request.eos
                    or len(request.said) == request.most
                    or request.known() == self.max_model_len
                ):
                    self._forget(request.name)
                    break
            if epoch == request.epoch:
                request.progress -= 1 + drafts
        return given

    def _forget(self, name: str) -> None:
        del self.requests[name]
        self.places.pop(name, None)
        if name in self.running:
            self.running.remove(name)

    def counters(self, request_id: str) -> dict[str, int]:
        request = self.requests[request_id]
        return {
            "num_tokens": request.known(),
            "num_computed_tokens": request.computed(),
            "num_output_placeholders": request.progress if request.decodes else 0,
            "num_in_flight_tokens": sum(tokens for _, tokens in request.in_flight),
            "num_stale_output_tokens": request.tokens_of_old_epochs(),
        }
