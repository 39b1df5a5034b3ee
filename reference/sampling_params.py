"""How long a request may go on, and what ends it."""

from dataclasses import dataclass
from typing import Literal

#: What a client is shown at each output: all so far, what is new, or nothing before the end.
RequestOutputKind = Literal["CUMULATIVE", "DELTA", "FINAL_ONLY"]


@dataclass(frozen=True, slots=True)
class RepetitionDetectionParams:
    """Ends a request whose output ends in ``min_count`` copies of one pattern of tokens.

    A pattern has ``min_pattern_size`` to ``max_pattern_size`` tokens; 0 as the smallest size
    means 1, 0 as the largest switches detection off.
    """

    max_pattern_size: int = 0
    min_pattern_size: int = 0
    min_count: int = 0


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """The rules of one request's output.

    ``eos_token_id`` is None when the model has none or the request ignores it: the check for the
    end of the sequence then never holds. ``min_tokens`` keeps the stopping tokens from being
    sampled at first (``forbidden_token_ids``); it does not gate their check. An ignored end of the
    sequence (``ignored_eos_token_id``) is kept away too, as in vLLM, although it stops nothing; so
    are ``all_stop_token_ids``, where the input processor has collected them.

    The fields from ``n`` on concern the front alone: how many sequences are asked for, which text
    ends one, and how it is shown. ``max_tokens`` is None until the input processor has set it.
    """

    max_tokens: int | None = 16
    min_tokens: int = 0
    eos_token_id: int | None = None
    stop_token_ids: tuple[int, ...] = ()
    repetition_detection: RepetitionDetectionParams | None = None
    prompt_logprobs: bool = False
    ignored_eos_token_id: int | None = None
    all_stop_token_ids: frozenset[int] = frozenset()
    ignore_eos: bool = False
    n: int = 1
    seed: int | None = None
    stop: tuple[str, ...] = ()
    include_stop_str_in_output: bool = False
    skip_special_tokens: bool = True
    detokenize: bool = True
    output_kind: RequestOutputKind = "CUMULATIVE"
    stream_interval: int | None = None
    logprobs: int | None = None

    @property
    def skip_reading_prefix_cache(self) -> bool:
        """Log probabilities of the prompt need its forward pass, so its hits are not used."""
        return self.prompt_logprobs

    def forbidden_token_ids(self, num_output_tokens: int) -> frozenset[int]:
        """Tokens that must not be sampled after so many outputs.

        >>> params = SamplingParams(max_tokens=9, min_tokens=2, eos_token_id=0)
        >>> params.forbidden_token_ids(1), params.forbidden_token_ids(2)
        (frozenset({0}), frozenset())
        """
        if num_output_tokens >= self.min_tokens:
            return frozenset()
        ends = (*self.stop_token_ids, self.eos_token_id, self.ignored_eos_token_id)
        return self.all_stop_token_ids.union(token for token in ends if token is not None)
