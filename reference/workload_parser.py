"""From plain data to a workload, with everything checked before anything runs."""

from dataclasses import fields, replace

from reference.config import ConfigError, EngineConfig, ModelConfig, Policy
from reference.fields import Fields, got
from reference.front_parser import FRONT_KEYS, read_front, read_text
from reference.groups_parser import read_groups
from reference.sampling_params import RepetitionDetectionParams, SamplingParams
from reference.variants import VARIANT_NAMES, Variants
from reference.workload import (
    Abort,
    Grammar,
    MultiModalFeature,
    Workload,
    WorkloadRequest,
    draw_tokens,
)

Prefixes = dict[str, tuple[int, ...]]

WORKLOAD_KEYS = (
    *("engine", "model", "max_steps", "reset_prefix_cache", "reset_running_requests"),
    *("prefixes", "requests"),
)
ENGINE_KEYS = tuple(field.name for field in fields(EngineConfig))
PATTERN_KEYS = ("max_pattern_size", "min_pattern_size", "min_count")
REQUEST_KEYS = (
    *("id", "prompt", "max_tokens", "arrival", "priority", "min_tokens", "ignore_eos"),
    *("stop_token_ids", "repetition_detection", "lora_name", "cache_salt", "mm_features"),
    *("prompt_logprobs", "abort", "grammar", *FRONT_KEYS),
)
#: What one process can hold and go through: larger ones would only fill the memory.
MOST_STEPS = 1_000_000
MOST_TOKENS = 10_000_000
MOST_BLOCKS = 10_000_000
LARGEST_VOCABULARY = 2**31
PROMPT = "a text, a list of tokens, or a mapping with length and seed, prefix, or all three"


def read_workload(data: object, source: str, name: str) -> Workload:
    """The workload described by ``data``; raises WorkloadError at the first mistake."""
    top = Fields(data, source, "", WORKLOAD_KEYS)
    engine = _engine(top.mapping("engine", ENGINE_KEYS))
    model = _model(top.mapping("model", ("vocab_size", "eos_token_id")))
    max_steps = top.integer("max_steps", 1000, minimum=1, maximum=MOST_STEPS)
    prefixes = _prefixes(top, model, engine.max_model_len - 1)
    top.sequence("requests", allowed="a list of requests")
    return Workload(
        name=name,
        engine=engine,
        model=model,
        requests=_requests(top, engine, model, prefixes, max_steps),
        max_steps=max_steps,
        reset_prefix_cache=top.integers("reset_prefix_cache", (), minimum=0),
        reset_running_requests=top.integers("reset_running_requests", (), minimum=0),
    )


def _engine(data: Fields) -> EngineConfig:
    default = EngineConfig()
    try:
        return EngineConfig(
            block_size=data.integer("block_size", default.block_size, 1, MOST_TOKENS),
            num_gpu_blocks=data.integer("num_gpu_blocks", default.num_gpu_blocks, 2, MOST_BLOCKS),
            max_model_len=data.integer("max_model_len", default.max_model_len, 2, MOST_TOKENS),
            max_num_seqs=data.integer("max_num_seqs", default.max_num_seqs, 1, MOST_TOKENS),
            max_num_batched_tokens=data.integer(
                "max_num_batched_tokens", default.max_num_batched_tokens, 1, MOST_TOKENS
            ),
            max_num_scheduled_tokens=data.optional_integer(
                "max_num_scheduled_tokens", 1, MOST_TOKENS
            ),
            long_prefill_token_threshold=data.integer(
                "long_prefill_token_threshold", default.long_prefill_token_threshold, minimum=0
            ),
            enable_chunked_prefill=data.boolean(
                "enable_chunked_prefill", default.enable_chunked_prefill
            ),
            enable_prefix_caching=data.boolean(
                "enable_prefix_caching", default.enable_prefix_caching
            ),
            policy=_policy(data),
            scheduler_reserve_full_isl=data.boolean(
                "scheduler_reserve_full_isl", default.scheduler_reserve_full_isl
            ),
            watermark=data.number("watermark", default.watermark),
            async_scheduling=data.boolean("async_scheduling", default.async_scheduling),
            num_speculative_tokens=data.integer(
                "num_speculative_tokens", default.num_speculative_tokens, 0, MOST_TOKENS
            ),
            **read_groups(data, default),
            enable_kv_cache_events=data.boolean(
                "enable_kv_cache_events", default.enable_kv_cache_events
            ),
            variants=_variants(data),
        )
    except ConfigError as error:
        raise data.error(error.field, error.problem, error.allowed) from None


def _policy(data: Fields) -> Policy:
    value = data.value("policy", "fcfs")
    if value == "fcfs":
        return "fcfs"
    if value == "priority":
        return "priority"
    raise data.error("policy", got(value), "fcfs or priority")


def _variants(data: Fields) -> Variants:
    allowed = f"a list of some of {', '.join(VARIANT_NAMES)}"
    names = data.sequence("variants", (), allowed)
    if not all(isinstance(name, str) and name in VARIANT_NAMES for name in names):
        raise data.error("variants", got(names), allowed)
    return Variants.of(str(name) for name in names)


def _model(data: Fields) -> ModelConfig:
    vocab_size = data.integer("vocab_size", ModelConfig().vocab_size, 1, LARGEST_VOCABULARY)
    eos = data.optional_integer("eos_token_id", minimum=0, maximum=vocab_size - 1)
    return ModelConfig(vocab_size=vocab_size, eos_token_id=eos)


def _prefixes(top: Fields, model: ModelConfig, longest: int) -> Prefixes:
    written = top.value("prefixes", {})
    if not isinstance(written, dict):
        raise top.error("prefixes", got(written), "a mapping from a name to a prefix")
    data = top.mapping("prefixes", tuple(written))
    for name in written:
        if not isinstance(name, str):
            raise data.error(str(name), got(name), "a text as the name of a prefix, in quotes")
    return {name: _prefix(data, name, model, longest) for name in written}


def _prefix(data: Fields, name: str, model: ModelConfig, longest: int) -> tuple[int, ...]:
    if isinstance(data.value(name), list):
        return data.integers(name, minimum=0, maximum=model.vocab_size - 1)
    drawn = data.mapping(name, ("length", "seed"))
    length = drawn.integer("length", minimum=1, maximum=longest)
    return draw_tokens(drawn.integer("seed"), length, model.vocab_size)


def _requests(
    top: Fields, engine: EngineConfig, model: ModelConfig, prefixes: Prefixes, max_steps: int
) -> tuple[WorkloadRequest, ...]:
    requests: list[WorkloadRequest] = []
    seen: set[str] = set()
    for data in top.items("requests", REQUEST_KEYS):
        request = _request(data, engine, model, prefixes, max_steps)
        if request.id in seen:
            raise data.error("id", f"{got(request.id)} again", "an id of its own for each request")
        seen.add(request.id)
        requests.append(request)
    by_arrival = sorted(range(len(requests)), key=lambda i: requests[i].arrival)
    for rank, i in enumerate(by_arrival):
        requests[i] = replace(requests[i], arrival_time=float(rank))
    return tuple(requests)


def _request(
    data: Fields, engine: EngineConfig, model: ModelConfig, prefixes: Prefixes, max_steps: int
) -> WorkloadRequest:
    prompt = _prompt(data, engine, model, prefixes)
    arrival = data.integer("arrival", 0, minimum=0, maximum=max_steps - 1)
    return WorkloadRequest(
        id=data.identifier("id"),
        prompt_token_ids=prompt,
        sampling_params=_sampling_params(data, model),
        arrival=arrival,
        priority=data.integer("priority", 0),
        lora_name=data.optional_text("lora_name"),
        cache_salt=data.optional_text("cache_salt"),
        mm_features=_mm_features(data, len(prompt)),
        abort=_abort(data, arrival),
        grammar=_grammar(data),
        prompt=data.text("prompt") if isinstance(data.value("prompt"), str) else None,
    )


def _prompt(
    data: Fields, engine: EngineConfig, model: ModelConfig, prefixes: Prefixes
) -> tuple[int, ...]:
    longest = engine.max_model_len - 1
    written = data.value("prompt", allowed=PROMPT)
    if isinstance(written, list):
        prompt = data.integers("prompt", minimum=0, maximum=model.vocab_size - 1)
    elif isinstance(written, dict):
        prompt = _drawn_prompt(
            data.mapping("prompt", ("prefix", "length", "seed")), model, prefixes, longest
        )
    elif isinstance(written, str):
        prompt = read_text(data, model)
    else:
        raise data.error("prompt", got(written), PROMPT)
    if not 1 <= len(prompt) <= longest:
        raise data.error(
            "prompt", f"{len(prompt)} tokens", f"1 to {longest} tokens (below max_model_len)"
        )
    return prompt


def _drawn_prompt(
    data: Fields, model: ModelConfig, prefixes: Prefixes, longest: int
) -> tuple[int, ...]:
    prefix: tuple[int, ...] = ()
    if "prefix" in data:
        name = data.text("prefix")
        if name not in prefixes:
            names = ", ".join(prefixes) or "none, because prefixes is empty"
            raise data.error("prefix", got(name), f"one of prefixes: {names}")
        prefix = prefixes[name]
    length = data.integer("length", 0, minimum=0, maximum=longest)
    # Two prompts that share a seed share a prefix: that has to be somebody's wish.
    seed = data.integer("seed") if length else 0
    return prefix + draw_tokens(seed, length, model.vocab_size)


def _sampling_params(data: Fields, model: ModelConfig) -> SamplingParams:
    last_token = model.vocab_size - 1
    max_tokens = data.integer("max_tokens", minimum=1)
    ignore_eos = data.boolean("ignore_eos", False)
    params = SamplingParams(
        max_tokens=max_tokens,
        min_tokens=data.integer("min_tokens", 0, minimum=0, maximum=max_tokens),
        eos_token_id=None if ignore_eos else model.eos_token_id,
        ignored_eos_token_id=model.eos_token_id if ignore_eos else None,
        stop_token_ids=data.integers("stop_token_ids", (), minimum=0, maximum=last_token),
        repetition_detection=_repetition_detection(data),
        prompt_logprobs=data.boolean("prompt_logprobs", False),
        ignore_eos=ignore_eos,
        **read_front(data),
    )
    if len(params.forbidden_token_ids(0)) >= model.vocab_size:
        raise data.error(
            "min_tokens", "every token ends this request", "0, or a token that does not end it"
        )
    return params


def _repetition_detection(data: Fields) -> RepetitionDetectionParams | None:
    name = "repetition_detection"
    if data.value(name, None) is None:
        return None
    written = data.mapping(name, PATTERN_KEYS)
    largest = written.integer("max_pattern_size", minimum=1)
    return RepetitionDetectionParams(
        max_pattern_size=largest,
        min_pattern_size=written.integer("min_pattern_size", 0, minimum=0, maximum=largest),
        min_count=written.integer("min_count", minimum=2),
    )


def _mm_features(data: Fields, num_prompt_tokens: int) -> tuple[MultiModalFeature, ...]:
    features: list[MultiModalFeature] = []
    end = 0
    for item in data.items("mm_features", ("identifier", "offset", "length")):
        offset = item.integer("offset", minimum=end, maximum=num_prompt_tokens - 1)
        length = item.integer("length", minimum=1, maximum=num_prompt_tokens - offset)
        features.append(MultiModalFeature(item.text("identifier"), offset, length))
        end = offset + length
    return tuple(features)


def _abort(data: Fields, arrival: int) -> Abort | None:
    written = data.value("abort", None)
    if written is None:
        return None
    if not isinstance(written, dict):
        return Abort(data.integer("abort", minimum=arrival + 1))
    fields = data.mapping("abort", ("step", "when"))
    when = fields.value("when", "before_schedule")
    if when not in ("before_schedule", "after_schedule"):
        raise fields.error("when", got(when), "before_schedule or after_schedule")
    after = when == "after_schedule"
    return Abort(fields.integer("step", minimum=arrival if after else arrival + 1), after)


def _grammar(data: Fields) -> Grammar | None:
    written = data.value("grammar", None)
    if written is None:
        return None
    if not isinstance(written, dict):
        return Grammar(data.integer("grammar", minimum=0))
    fields = data.mapping("grammar", ("step", "compiles"))
    return Grammar(fields.integer("step", minimum=0), fields.boolean("compiles", True))
