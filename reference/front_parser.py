"""The keys of a request that concern the engine's front: text in, text out."""

from typing import Any, get_args

from reference.config import ModelConfig
from reference.fields import Fields, got
from reference.sampling_params import RequestOutputKind
from reference.tokenizer import default_tokenizer

FRONT_KEYS = (
    *("n", "seed", "stop", "include_stop_str_in_output", "skip_special_tokens"),
    *("output_kind", "stream_interval"),
)
#: As in vLLM.
MOST_SEQUENCES = 16384


def read_front(data: Fields) -> dict[str, Any]:
    """The fields of ``SamplingParams`` that the front reads."""
    kind = data.value("output_kind", "CUMULATIVE")
    if kind not in get_args(RequestOutputKind):
        raise data.error("output_kind", got(kind), ", ".join(get_args(RequestOutputKind)))
    return {
        "n": data.integer("n", 1, minimum=1, maximum=MOST_SEQUENCES),
        "seed": data.optional_integer("seed"),
        "stop": data.texts("stop"),
        "include_stop_str_in_output": data.boolean("include_stop_str_in_output", False),
        "skip_special_tokens": data.boolean("skip_special_tokens", True),
        "output_kind": kind,
        "stream_interval": data.optional_integer("stream_interval", minimum=1),
    }


def read_text(data: Fields, model: ModelConfig) -> tuple[int, ...]:
    """The tokens of a prompt of text; the model must know all of them."""
    tokenizer = default_tokenizer()
    prompt = tuple(tokenizer.encode(data.text("prompt")))
    if max(prompt) >= model.vocab_size:
        raise data.error(
            "prompt",
            f"a token beyond vocab_size ({model.vocab_size})",
            f"a text only where vocab_size is at least {len(tokenizer)}",
        )
    return prompt
