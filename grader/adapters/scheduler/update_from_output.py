"""vLLM's own `update_from_output` and `check_stop` behind the lesson's interface.

The scheduler has its own KV cache manager; each request that this one frees is told to the
manager that is handed in.
"""

import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from vllm.sampling_params import RepetitionDetectionParams
from vllm.sampling_params import SamplingParams as RealParams
from vllm.v1.core.sched import utils
from vllm.v1.request import Request as RealRequest
from vllm.v1.request import RequestStatus

import grader

sys.path.append(str(Path(__file__).parents[3]))
grader.__path__.append(str(Path(__file__).parents[2]))
kit = import_module("grader.adapters.kit")

PRELOAD = ("vllm.config", "vllm.v1.core.sched.scheduler", "vllm.v1.request")


@dataclass
class SamplingParams:
    max_tokens: int
    min_tokens: int = 0
    eos_token_id: int | None = None
    stop_token_ids: tuple[int, ...] = ()
    repetition_detection: tuple[int, int, int] | None = None

    def real(self) -> RealParams:
        params = RealParams(
            max_tokens=self.max_tokens,
            min_tokens=self.min_tokens,
            stop_token_ids=list(self.stop_token_ids),
            ignore_eos=self.eos_token_id is None,
            repetition_detection=detection(self.repetition_detection),
            detokenize=False,
        )
        params.update_from_generation_config({}, self.eos_token_id)
        return params


def detection(triple: tuple[int, int, int] | None) -> RepetitionDetectionParams | None:
    """vLLM's own object of the three numbers, past the validation of a client's request."""
    if triple is None:
        return None
    params = RepetitionDetectionParams()
    params.max_pattern_size, params.min_pattern_size, params.min_count = triple
    return params


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
    """Only the stub has a use for it."""


class KVCacheManager:
    """The examples' own."""

    def __init__(self) -> None:
        self.freed: list[str] = []

    def free(self, request_id: str) -> None:
        self.freed.append(request_id)


def check_sequence_repetition(
    token_ids: list[int], repetition_detection: tuple[int, int, int]
) -> bool:
    return utils.check_sequence_repetition(token_ids, detection(repetition_detection))


def check_stop(
    output_token_ids: list[int],
    num_prompt_tokens: int,
    params: SamplingParams,
    max_model_len: int,
) -> tuple[str | None, int | str | None]:
    request = kit.request_of("asked", num_prompt_tokens, params.real())
    request.append_output_token_ids(list(output_token_ids))
    if not utils.check_stop(request, max_model_len):
        return None, None
    return request.status.name, request.stop_reason


class Scheduler:
    def __init__(self, max_model_len: int, kv_cache_manager: Any) -> None:
        self._scheduler = kit.scheduler_of(
            **kit.PLENTY,
            max_model_len=max_model_len,
            max_num_seqs=200,
            max_num_batched_tokens=200_000,
        )
        self._manager = kv_cache_manager
        own = self._scheduler.kv_cache_manager
        free = own.free

        def free_and_tell(request: RealRequest) -> None:
            free(request)
            self._manager.free(request.request_id)

        own.free = free_and_tell

    def add_request(
        self,
        request_id: str,
        num_prompt_tokens: int,
        sampling_params: SamplingParams,
        client_index: int = 0,
    ) -> None:
        self._scheduler.add_request(
            kit.request_of(request_id, num_prompt_tokens, sampling_params.real(), client_index)
        )

    def schedule(self) -> SchedulerOutput:
        self._output = self._scheduler.schedule()
        return SchedulerOutput(
            dict(self._output.num_scheduled_tokens),
            {name: list(ids) for name, ids in self._output.scheduled_spec_decode_tokens.items()},
            set(self._output.finished_req_ids),
        )

    def update_draft_token_ids(self, draft_token_ids: dict[str, list[int]]) -> None:
        self._scheduler.update_draft_token_ids(kit.drafts_of(draft_token_ids))

    def update_from_output(
        self, sampled: dict[str, list[int]]
    ) -> dict[int, list[EngineCoreOutput]]:
        model_output = kit.sampled_output(self._output.num_scheduled_tokens, sampled)
        clients = self._scheduler.update_from_output(self._output, model_output)
        return {
            client_index: [
                EngineCoreOutput(
                    one.request_id,
                    list(one.new_token_ids),
                    None if one.finish_reason is None else str(one.finish_reason),
                    one.stop_reason,
                )
                for one in of_client.outputs
            ]
            for client_index, of_client in clients.items()
            if of_client.outputs
        }

    def finish_requests(self, request_ids: list[str] | None) -> None:
        self._scheduler.finish_requests(request_ids, RequestStatus.FINISHED_ABORTED)
