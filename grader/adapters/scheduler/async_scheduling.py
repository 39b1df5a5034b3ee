"""vLLM's own `AsyncScheduler` behind the lesson's interface, with memory to spare."""

import sys
from collections import deque
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from vllm.sampling_params import SamplingParams
from vllm.v1.core.sched.output import SchedulerOutput as RealOutput

import grader

sys.path.append(str(Path(__file__).parents[3]))
grader.__path__.append(str(Path(__file__).parents[2]))
kit = import_module("grader.adapters.kit")

PRELOAD = (
    "vllm.config",
    "vllm.v1.core.sched.async_scheduler",
    "vllm.v1.core.sched.scheduler",
    "vllm.v1.request",
)


@dataclass
class SchedulerOutput:
    num_scheduled_tokens: dict[str, int]
    scheduled_spec_decode_tokens: dict[str, list[int]]


@dataclass
class Request:
    """Only the stub has a use for it."""


class Scheduler:
    """Only the stub has a use for it."""


class AsyncScheduler(Scheduler):
    def __init__(
        self, max_model_len: int, max_num_scheduled_tokens: int, num_spec_tokens: int = 0
    ) -> None:
        self._scheduler = kit.scheduler_of(
            **kit.PLENTY,
            max_num_seqs=100,
            max_num_batched_tokens=max(100, max_num_scheduled_tokens),
            max_num_scheduled_tokens=max_num_scheduled_tokens,
            max_model_len=max_model_len,
            async_scheduling=True,
            num_speculative_tokens=num_spec_tokens,
        )
        self._in_flight: deque[RealOutput] = deque()

    def add_request(
        self,
        request_id: str,
        num_prompt_tokens: int,
        max_tokens: int,
        eos_token_id: int | None = None,
    ) -> None:
        params = SamplingParams(
            max_tokens=max_tokens, ignore_eos=eos_token_id is None, detokenize=False
        )
        params.update_from_generation_config({}, eos_token_id)
        self._scheduler.add_request(kit.request_of(request_id, num_prompt_tokens, params))

    def schedule(self) -> SchedulerOutput:
        output = self._scheduler.schedule()
        self._in_flight.append(output)
        return SchedulerOutput(
            dict(output.num_scheduled_tokens),
            {name: list(ids) for name, ids in output.scheduled_spec_decode_tokens.items()},
        )

    def preempt(self, request_id: str, drop_stale_output: bool = False) -> None:
        request = self._scheduler.requests[request_id]
        self._scheduler.running.remove(request)
        self._scheduler._preempt_request(request, 0.0, drop_stale_output=drop_stale_output)

    def update_from_output(self, sampled: dict[str, list[int]]) -> dict[str, list[int]]:
        output = self._in_flight.popleft()
        model_output = kit.sampled_output(output.num_scheduled_tokens, sampled)
        clients = self._scheduler.update_from_output(output, model_output)
        outputs = [one for client in clients.values() for one in client.outputs]
        return {one.request_id: list(one.new_token_ids) for one in outputs}

    def queues(self) -> tuple[list[str], list[str], list[str]]:
        real = self._scheduler
        queues = (real.running, real.skipped_waiting, real.waiting)
        running, skipped_waiting, waiting = ([r.request_id for r in queue] for queue in queues)
        return running, skipped_waiting, waiting

    def counters(self, request_id: str) -> dict[str, int]:
        request = self._scheduler.requests[request_id]
        names = (
            *("num_tokens", "num_computed_tokens", "num_output_placeholders"),
            *("num_in_flight_tokens", "num_stale_output_tokens"),
        )
        return {name: getattr(request, name) for name in names}
