"""From what a client asks for to a request that the engine core can take."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, Literal, Protocol

from reference.sampling_params import SamplingParams
from reference.wire import EngineCoreRequest
from reference.workload import MultiModalFeature, mix64

TruncationSide = Literal["left", "right"]


class VLLMValidationError(Exception):
    """A request that cannot be served as it was asked for. As in vLLM it is no ValueError."""


class Encoder(Protocol):
    """What the processor needs of a tokenizer."""

    @property
    def max_token_id(self) -> int: ...
    @property
    def eos_token_id(self) -> int | None: ...
    def encode(self, text: str) -> list[int]: ...


def numbered_suffixes() -> Callable[[], str]:
    """Eight hexadecimal digits at each call, never the same soon; the same in every run.

    >>> suffix = numbered_suffixes()
    >>> suffix(), suffix()
    ('e220a839', '910a2dec')
    """
    numbers = count()
    return lambda: f"{mix64(next(numbers)):016x}"[:8]


class InputProcessor:
    """Checks a request, makes tokens of its text, and completes its parameters.

    Args:
        max_model_len: tokens of a prompt and its output together.
        vocab_size: the model's.
        tokenizer: without one a prompt must be tokens, and these are not checked.
        max_token_id, eos_token_id: the tokenizer's, where it is not handed in itself.
        generation_config: the model's; its ``eos_token_id`` may be one or several.
        max_logprobs: the most that may be asked for; -1 for the whole vocabulary.
        suffix: makes what tells requests apart that came under one id.

    >>> processor = InputProcessor(max_model_len=64, vocab_size=100)
    >>> request = processor.process_inputs("a", [1, 2, 3], SamplingParams(max_tokens=None))
    >>> request.sampling_params.max_tokens
    61
    >>> processor.assign_request_id(request)
    >>> request.request_id, request.external_req_id
    ('a-e220a839', 'a')
    """

    def __init__(
        self,
        max_model_len: int,
        vocab_size: int,
        max_token_id: int | None = None,
        eos_token_id: int | None = None,
        generation_config: Mapping[str, Any] | None = None,
        max_logprobs: int = 20,
        data_parallel_size: int = 1,
        data_parallel_size_local: int = 1,
        local_engines_only: bool = False,
        suffix: Callable[[], str] | None = None,
        tokenizer: Encoder | None = None,
    ) -> None:
        self.max_model_len = max_model_len
        self.vocab_size = vocab_size
        self.max_token_id = tokenizer.max_token_id if tokenizer else max_token_id
        self.eos_token_id = eos_token_id
        self.max_logprobs = vocab_size if max_logprobs == -1 else max_logprobs
        self.num_ranks = data_parallel_size_local if local_engines_only else data_parallel_size
        self._more_eos_token_ids = _more_eos_token_ids(generation_config or {}, eos_token_id)
        self._suffix = suffix or numbered_suffixes()
        self._tokenizer = tokenizer

    def process_inputs(
        self,
        request_id: str,
        prompt: str | Sequence[int],
        params: SamplingParams,
        arrival_time: float = 0.0,
        priority: int = 0,
        data_parallel_rank: int | None = None,
        truncate_prompt_tokens: int | None = None,
        truncation_side: TruncationSide | None = None,
        rendered: bool = False,
        lora_name: str | None = None,
        cache_salt: str | None = None,
        mm_features: Sequence[MultiModalFeature] = (),
    ) -> EngineCoreRequest:
        """The request for the engine core; the caller's parameters stay as they are.

        A ``rendered`` prompt was tokenized, and cut, before it came here.

        Raises:
            VLLMValidationError: anything in it cannot be served. The parameters are checked
                first, then the rank, then the prompt.
        """
        self._verify(params)
        if data_parallel_rank is not None and not 0 <= data_parallel_rank < self.num_ranks:
            raise VLLMValidationError(
                f"data_parallel_rank {data_parallel_rank} is out of range [0, {self.num_ranks})."
            )
        token_ids = self._tokenize(prompt)
        if not rendered:
            token_ids = self._truncate(token_ids, truncate_prompt_tokens, truncation_side)
        self._validate_prompt(token_ids)
        return EngineCoreRequest(
            request_id,
            token_ids,
            self._complete(params, len(token_ids)),
            mm_features=tuple(mm_features),
            arrival_time=arrival_time,
            lora_name=lora_name,
            cache_salt=cache_salt,
            data_parallel_rank=data_parallel_rank,
            priority=priority,
        )

    def assign_request_id(self, request: EngineCoreRequest) -> None:
        """Gives the request an id that no other has; the client's own is kept beside it.

        Raises:
            ValueError: it was given one already.
        """
        if request.external_req_id is not None:
            raise ValueError(f"{request.request_id} has its internal id already")
        request.external_req_id = request.request_id
        request.request_id = f"{request.external_req_id}-{self._suffix()}"

    def _verify(self, params: SamplingParams) -> None:
        wanted = self.vocab_size if params.logprobs == -1 else params.logprobs or 0
        if wanted > self.max_logprobs:
            raise VLLMValidationError(
                f"Requested sample logprobs of {wanted}, "
                f"which is greater than max allowed: {self.max_logprobs}"
            )
        stops = dict.fromkeys(params.stop_token_ids)
        unknown = [i for i in stops if not 0 <= i < self.vocab_size]
        if unknown:
            raise VLLMValidationError(
                f"token_id(s) {unknown} in stop_token_ids contain out-of-vocab token ids. "
                f"Vocabulary size: {self.vocab_size}"
            )

    def _tokenize(self, prompt: str | Sequence[int]) -> list[int]:
        if not isinstance(prompt, str):
            return list(prompt)
        if self._tokenizer is None:
            raise VLLMValidationError("A prompt of text needs a tokenizer")
        return self._tokenizer.encode(prompt)

    def _truncate(
        self, token_ids: list[int], size: int | None, side: TruncationSide | None
    ) -> list[int]:
        """The last tokens, unless the side says otherwise or there is no tokenizer to say so."""
        limit = self.max_model_len
        if size is not None and size > limit:
            raise VLLMValidationError(
                f"truncate_prompt_tokens={size} cannot be greater than max_model_len={limit}."
            )
        if size is not None:
            size = limit if size < 0 else size
            has_tokenizer = self.max_token_id is not None
            keeps_last = (side or ("left" if has_tokenizer else "right")) == "left"
            token_ids = (
                token_ids[max(len(token_ids) - size, 0) :] if keeps_last else token_ids[:size]
            )
        if len(token_ids) > limit:
            raise VLLMValidationError(
                f"This model's maximum context length is {limit} tokens. However, your prompt "
                f"contains {len(token_ids)} input tokens."
            )
        return token_ids

    def _validate_prompt(self, token_ids: Sequence[int]) -> None:
        length, limit = len(token_ids), self.max_model_len
        if length == 0:
            raise VLLMValidationError("The decoder prompt cannot be empty")
        if length > limit:
            raise VLLMValidationError(
                f"The decoder prompt (length {length}) is longer than the maximum model length "
                f"of {limit}."
            )
        if length == limit:
            raise VLLMValidationError(
                f"The decoder prompt (length {length}) plus the number of requested output "
                f"tokens (at least 1) is longer than the maximum model length of {limit}."
            )
        if self.max_token_id is None:
            return
        # Either may own ids that the other lacks.
        largest = max(self.max_token_id, self.vocab_size - 1)
        for token_id in (min(token_ids), max(token_ids)):
            if not 0 <= token_id <= largest:
                raise VLLMValidationError(f"Token id {token_id} is out of vocabulary")

    def _complete(self, params: SamplingParams, prompt_len: int) -> SamplingParams:
        """The parameters with what only the engine knows: the room there is, and what ends."""
        eos, more = self.eos_token_id, self._more_eos_token_ids
        added = () if params.ignore_eos else more
        ends = {*params.stop_token_ids, *more} | ({eos} if eos is not None else set())
        room = self.max_model_len - prompt_len
        return replace(
            params,
            max_tokens=room if params.max_tokens is None else params.max_tokens,
            eos_token_id=None if params.ignore_eos else eos,
            stop_token_ids=tuple(dict.fromkeys((*params.stop_token_ids, *added))),
            all_stop_token_ids=frozenset(ends),
        )


def _more_eos_token_ids(config: Mapping[str, Any], eos_token_id: int | None) -> tuple[int, ...]:
    """The ends of a sequence that a model knows besides the tokenizer's own."""
    ids = config.get("eos_token_id")
    several = () if ids is None else (ids,) if isinstance(ids, int) else ids
    return tuple(i for i in dict.fromkeys(several) if i != eos_token_id)
