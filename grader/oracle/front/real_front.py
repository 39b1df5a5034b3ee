"""vLLM's own front, for the driver. Runs in the oracle's environment alone."""

import json
import tempfile
from copy import copy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from transformers import AutoTokenizer
from vllm.config import DeviceConfig, ModelConfig, VllmConfig
from vllm.exceptions import VLLMValidationError
from vllm.sampling_params import RequestOutputKind, SamplingParams
from vllm.v1.engine import EngineCoreOutput, EngineCoreRequest, FinishReason
from vllm.v1.engine import input_processor as input_processor_module
from vllm.v1.engine.detokenizer import FastIncrementalDetokenizer, SlowIncrementalDetokenizer
from vllm.v1.engine.input_processor import InputProcessor
from vllm.v1.engine.output_processor import OutputProcessor, RequestOutputCollector
from vllm.v1.engine.parallel_sampling import ParentRequest
from vllm.v1.outputs import LogprobsLists

from grader.oracle.front.driver import Script, run
from grader.oracle.front.real_core import RealCore
from reference.tokenizer import DATA, END_OF_TEXT

LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "max_position_embeddings": 1 << 20,
    "torch_dtype": "float32",
}


def run_front(kind: str, script: Script) -> Any:
    """What a script comes to on vLLM's own classes."""
    return run(kind, script, RealFront())


class RealFront:
    """Makes vLLM's objects."""

    def detokenizer(self, script: Script) -> Any:
        made = FastIncrementalDetokenizer if script["fast"] else SlowIncrementalDetokenizer
        request = core_request("r", script["prompt"], SamplingParams(**script["params"]))
        return made(tokenizer(), request)

    def output_processor(self, stream_interval: int) -> OutputProcessor:
        return OutputProcessor(tokenizer(), log_stats=False, stream_interval=stream_interval)

    def collector(self, _processor: Any, request: Script) -> RequestOutputCollector:
        kind = RequestOutputKind[request["params"].get("output_kind", "CUMULATIVE")]
        return RequestOutputCollector(kind, request["internal_id"])

    def add_request(self, processor: OutputProcessor, request: Script) -> list[str]:
        made = core_request(request["internal_id"], request["prompt"], _params(request["params"]))
        made.external_req_id = request["id"]
        queue = request.get("collector")
        if made.params.n == 1:
            processor.add_request(made, None, None, 0, queue)
            return [made.request_id]
        parent = ParentRequest(made)
        infos = [parent.get_child_info(index) for index in range(parent.n)]
        for index, (request_id, params) in enumerate(infos):
            child = copy(made)
            child.request_id, child.sampling_params = request_id, params
            processor.add_request(child, None, parent, index, queue)
        return [request_id for request_id, _ in infos]

    def core_outputs(self, outputs: list[Script]) -> list[EngineCoreOutput]:
        return [
            EngineCoreOutput(
                each["request_id"],
                list(each["token_ids"]),
                new_logprobs=_logprobs(each["logprobs"]),
                finish_reason=None if each["finish"] is None else FinishReason(each["finish"]),
                stop_reason=each["stop_reason"],
            )
            for each in outputs
        ]

    def plain_logprobs(self, logprobs: Any) -> Any:
        return logprobs and [
            [[token, each.logprob, each.rank] for token, each in candidates.items()]
            for candidates in logprobs
        ]

    def engine_core(self, script: Script) -> RealCore:
        return RealCore(script)

    def process_inputs(self, script: Script) -> Script:
        settings = ("max_model_len", "vocab_size", "has_tokenizer")
        eos = (script["generation_config"] or {}).get("eos_token_id")
        key = (*(script[name] for name in settings), json.dumps(eos))
        processor = _input_processor(*key)
        prompt: Any = script["prompt"]
        if not isinstance(prompt, str):
            prompt = {"prompt_token_ids": list(prompt)}
            if script["rendered"]:
                prompt["type"] = "token"
        try:
            request = processor.process_inputs(
                "r",
                prompt,
                _params(script["params"]),
                ("generate",),
                arrival_time=0.0,
                data_parallel_rank=script["data_parallel_rank"],
                priority=script["priority"],
                tokenization_kwargs=dict(script["tokenization"]),
            )
        except VLLMValidationError as error:
            return {"error": str(error).split()[:4]}
        input_processor_module.random_uuid = lambda: "0" * 32
        processor.assign_request_id(request)
        params = request.sampling_params
        return {
            "request_id": request.request_id,
            "external_req_id": request.external_req_id,
            "prompt_token_ids": list(request.prompt_token_ids),
            "priority": request.priority,
            "max_tokens": params.max_tokens,
            "min_tokens": params.min_tokens,
            "stop_token_ids": sorted(params.stop_token_ids),
            "eos_token_id": params.eos_token_id,
            "all_stop_token_ids": sorted(params.all_stop_token_ids),
        }


def core_request(request_id: str, prompt: Any, params: SamplingParams) -> EngineCoreRequest:
    """vLLM's own message that adds a request."""
    return EngineCoreRequest(
        request_id=request_id,
        prompt_token_ids=list(prompt),
        mm_features=None,
        sampling_params=params,
        pooling_params=None,
        arrival_time=0.0,
        lora_request=None,
        cache_salt=None,
        data_parallel_rank=None,
    )


@cache
def tokenizer() -> Any:
    """This repo's tokenizer, as transformers reads it."""
    return AutoTokenizer.from_pretrained(str(model_folder(1000, "null")))


@cache
def model_folder(vocab_size: int, eos_token_ids: str) -> Path:
    """A model that is only described; the ends of a sequence as JSON."""
    folder = Path(tempfile.mkdtemp(prefix="vllmlings-model-"))
    data = json.loads(DATA.read_text())
    special = [token["content"] for token in data["added_tokens"] if token["special"]]
    others = [text for text in special if text != END_OF_TEXT]
    kind = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": END_OF_TEXT}
    _write(folder / "config.json", LLAMA | {"vocab_size": vocab_size, "eos_token_id": None})
    _write(folder / "tokenizer.json", data)
    _write(folder / "tokenizer_config.json", kind | {"additional_special_tokens": others})
    ends = json.loads(eos_token_ids)
    _write(folder / "generation_config.json", {} if ends is None else {"eos_token_id": ends})
    return folder


@cache
def _input_processor(
    max_model_len: int, vocab_size: int, has_tokenizer: bool, eos_token_ids: str
) -> InputProcessor:
    model_config = ModelConfig(
        model=str(model_folder(vocab_size, eos_token_ids)),
        dtype="float32",
        max_model_len=max_model_len,
        skip_tokenizer_init=not has_tokenizer,
    )
    config = VllmConfig(model_config=model_config, device_config=DeviceConfig("cpu"))
    return InputProcessor(config)


def _write(path: Path, data: Any) -> None:
    path.write_text(json.dumps(data))


def _params(data: Script) -> SamplingParams:
    kind = data.get("output_kind", "CUMULATIVE")
    return SamplingParams(**data | {"output_kind": RequestOutputKind[kind]})


def _logprobs(data: Any) -> LogprobsLists | None:
    if data is None:
        return None
    return LogprobsLists(
        np.array([[token for token, _, _ in each] for each in data]),
        np.array([[value for _, value, _ in each] for each in data]),
        np.array([each[0][2] for each in data]),
    )
