"""vLLM's own scheduler behind the lesson's interface, with more blocks than anybody needs."""

import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from vllm.sampling_params import SamplingParams

import grader

sys.path.append(str(Path(__file__).parents[3]))
grader.__path__.append(str(Path(__file__).parents[2]))
kit = import_module("grader.adapters.kit")

PRELOAD = ("vllm.config", "vllm.v1.core.sched.scheduler", "vllm.v1.request")


@dataclass
class SchedulerOutput:
    num_scheduled_tokens: dict[str, int]
    scheduled_spec_decode_tokens: dict[str, list[int]]


@dataclass
class Request:
    """Only the stub has a use for it."""


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
        self._scheduler = kit.scheduler_of(
            **kit.PLENTY,
            max_num_seqs=max_num_seqs,
            max_num_batched_tokens=max_num_batched_tokens,
            max_num_scheduled_tokens=max_num_scheduled_tokens,
            max_model_len=max_model_len,
            long_prefill_token_threshold=long_prefill_token_threshold,
            enable_chunked_prefill=enable_chunked_prefill,
        )

    def add_request(self, request_id: str, num_prompt_tokens: int, max_tokens: int) -> None:
        params = SamplingParams(max_tokens=max_tokens, ignore_eos=True)
        self._scheduler.add_request(kit.request_of(request_id, num_prompt_tokens, params))

    def schedule(self) -> SchedulerOutput:
        self._output = self._scheduler.schedule()
        return SchedulerOutput(
            dict(self._output.num_scheduled_tokens),
            {name: list(ids) for name, ids in self._output.scheduled_spec_decode_tokens.items()},
        )

    def update_draft_token_ids(self, draft_token_ids: dict[str, list[int]]) -> None:
        self._scheduler.update_draft_token_ids(kit.drafts_of(draft_token_ids))

    def update_from_output(self, sampled: dict[str, list[int]]) -> None:
        model_output = kit.sampled_output(self._output.num_scheduled_tokens, sampled)
        self._scheduler.update_from_output(self._output, model_output)
