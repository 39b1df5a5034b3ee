"""The reference engine's front, for the driver."""

from typing import Any

from grader.oracle.front.driver import Script
from grader.oracle.front.reference_core import ReferenceCore
from reference.detokenizer import IncrementalDetokenizer
from reference.input_processor import InputProcessor, VLLMValidationError
from reference.output import EngineCoreOutput, FinishReason
from reference.output_processor import OutputProcessor, RequestOutputCollector
from reference.parallel_sampling import fan_out
from reference.sampling_params import SamplingParams
from reference.tokenizer import default_tokenizer
from reference.wire import EngineCoreRequest


class ReferenceFront:
    """Makes the reference engine's objects."""

    def detokenizer(self, script: Script) -> IncrementalDetokenizer:
        return IncrementalDetokenizer(default_tokenizer(), script["prompt"], **script["params"])

    def output_processor(self, stream_interval: int) -> OutputProcessor:
        return OutputProcessor(default_tokenizer(), stream_interval)

    def collector(self, _processor: Any, request: Script) -> RequestOutputCollector:
        return RequestOutputCollector(request["params"].get("output_kind", "CUMULATIVE"))

    def add_request(self, processor: OutputProcessor, request: Script) -> list[str]:
        made = EngineCoreRequest(
            request["internal_id"],
            list(request["prompt"]),
            _params(request["params"]),
            external_req_id=request["id"],
        )
        queue = request.get("collector")
        if made.sampling_params.n == 1:
            processor.add_request(made, queue=queue)
            return [made.request_id]
        parent, children = fan_out(made)
        for index, child in enumerate(children):
            processor.add_request(child, None, parent, index, queue)
        return [child.request_id for child in children]

    def core_outputs(self, outputs: list[Script]) -> list[EngineCoreOutput]:
        return [
            EngineCoreOutput(
                each["request_id"],
                list(each["token_ids"]),
                _logprobs(each["logprobs"]),
                None if each["finish"] is None else FinishReason(each["finish"]),
                each["stop_reason"],
            )
            for each in outputs
        ]

    def plain_logprobs(self, logprobs: Any) -> Any:
        return logprobs and [
            [[token, *each] for token, each in candidates.items()] for candidates in logprobs
        ]

    def engine_core(self, script: Script) -> ReferenceCore:
        return ReferenceCore(script)

    def process_inputs(self, script: Script) -> Script:
        tokenizer = default_tokenizer() if script["has_tokenizer"] else None
        processor = InputProcessor(
            max_model_len=script["max_model_len"],
            vocab_size=script["vocab_size"],
            eos_token_id=tokenizer.eos_token_id if tokenizer else None,
            generation_config=script["generation_config"],
            suffix=lambda: "0" * 8,
            tokenizer=tokenizer,
        )
        try:
            request = processor.process_inputs(
                "r",
                script["prompt"],
                _params(script["params"]),
                data_parallel_rank=script["data_parallel_rank"],
                rendered=script["rendered"],
                priority=script["priority"],
                **script["tokenization"],
            )
        except VLLMValidationError as error:
            return {"error": str(error).split()[:4]}
        processor.assign_request_id(request)
        params = request.sampling_params
        return {
            "request_id": request.request_id,
            "external_req_id": request.external_req_id,
            "prompt_token_ids": request.prompt_token_ids,
            "priority": request.priority,
            "max_tokens": params.max_tokens,
            "min_tokens": params.min_tokens,
            "stop_token_ids": sorted(params.stop_token_ids),
            "eos_token_id": params.eos_token_id,
            "all_stop_token_ids": sorted(params.all_stop_token_ids),
        }


def _params(data: Script) -> SamplingParams:
    sequences = ("stop", "stop_token_ids")
    fields: dict[str, Any] = {
        name: tuple(value) if name in sequences else value for name, value in data.items()
    }
    return SamplingParams(**fields)


def _logprobs(data: Any) -> Any:
    """From triples (token, log probability, rank) for each token to one mapping for each."""
    return data and [{token: (value, rank) for token, value, rank in each} for each in data]
