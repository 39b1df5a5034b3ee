"""A workload: an engine's configuration and the requests that reach it, step by step.

A prompt may be drawn instead of written out: token ``i`` of the prompt with a seed is
``mix64(mix64(seed) + i) % vocab_size``, where ``mix64`` is the finaliser of splitmix64.
"""

from dataclasses import dataclass, field, fields
from pathlib import PurePath
from typing import Any

from reference.config import EngineConfig, ModelConfig
from reference.fields import WorkloadError
from reference.sampling_params import SamplingParams

__all__ = [
    "Abort",
    "Grammar",
    "MultiModalFeature",
    "Workload",
    "WorkloadError",
    "WorkloadRequest",
    "draw_tokens",
    "mix64",
    "parse_workload",
]

MASK64 = (1 << 64) - 1


def mix64(value: int) -> int:
    """Scatters a whole number over 64 bits; equal numbers always give equal results.

    >>> hex(mix64(1))
    '0x910a2dec89025cc1'
    """
    value = (value + 0x9E3779B97F4A7C15) & MASK64
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK64
    return value ^ (value >> 31)


def draw_tokens(seed: int, length: int, vocab_size: int) -> tuple[int, ...]:
    """The first ``length`` tokens of the prompt with this seed.

    >>> draw_tokens(seed=7, length=4, vocab_size=1000) == draw_tokens(7, 9, 1000)[:4]
    True
    """
    start = mix64(seed)
    return tuple(mix64(start + i) % vocab_size for i in range(length))


@dataclass(frozen=True, slots=True)
class Abort:
    """A client gives up: before ``step`` is scheduled, or while that step's model runs."""

    step: int
    after_schedule: bool = False


@dataclass(frozen=True, slots=True)
class Grammar:
    """A request's grammar is being compiled: done, or failed, before ``step`` is scheduled."""

    step: int
    compiles: bool = True


@dataclass(frozen=True, slots=True)
class MultiModalFeature:
    """An image or the like in a prompt: its identity and the placeholder tokens it covers."""

    identifier: str
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class WorkloadRequest:
    """A request as it reaches the engine, just before step ``arrival`` is scheduled.

    ``arrival_time`` is its place among all requests by arrival: step first, then file order.
    ``prompt`` is the text that the tokens were made of, if they were.
    """

    id: str
    prompt_token_ids: tuple[int, ...]
    sampling_params: SamplingParams
    arrival: int = 0
    arrival_time: float = 0.0
    priority: int = 0
    lora_name: str | None = None
    cache_salt: str | None = None
    mm_features: tuple[MultiModalFeature, ...] = ()
    abort: Abort | None = None
    grammar: Grammar | None = None
    prompt: str | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    """Everything that a run depends on; ``requests`` are in file order.

    Before the steps ``reset_prefix_cache`` the prefix cache is emptied if no block is in use;
    before ``reset_running_requests`` all that runs is preempted for it.
    """

    name: str
    engine: EngineConfig = field(default_factory=EngineConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    requests: tuple[WorkloadRequest, ...] = ()
    max_steps: int = 1000
    reset_prefix_cache: tuple[int, ...] = ()
    reset_running_requests: tuple[int, ...] = ()

    @property
    def needs_front(self) -> bool:
        """Whether the engine core alone would not do what the requests ask for."""
        params = [request.sampling_params for request in self.requests]
        return any(each.n > 1 or each.stop for each in params)

    @property
    def has_text(self) -> bool:
        """Whether any request comes as text."""
        return any(request.prompt is not None for request in self.requests)

    def to_dict(self) -> dict[str, Any]:
        """The workload as plain data that ``parse_workload`` reads back; defaults are left out.

        >>> data = {"requests": [{"id": "a", "prompt": [1, 2], "max_tokens": 3}]}
        >>> parse_workload(data, "w.yaml").to_dict() == data
        True
        """
        data: dict[str, Any] = {
            "engine": _engine_to_dict(self.engine),
            "model": _changed(self.model, ModelConfig()),
            "max_steps": self.max_steps,
            "reset_prefix_cache": list(self.reset_prefix_cache),
            "reset_running_requests": list(self.reset_running_requests),
            "requests": [_request_to_dict(request, self.model) for request in self.requests],
        }
        defaults: dict[str, Any] = {"engine": {}, "model": {}, "max_steps": 1000}
        defaults |= {"reset_prefix_cache": [], "reset_running_requests": []}
        return {key: value for key, value in data.items() if value != defaults.get(key)}


def parse_workload(data: object, source: str) -> Workload:
    """The workload that ``data``, as read from the file ``source``, describes.

    Raises:
        WorkloadError: anything in it is wrong; nothing is run then.

    >>> parse_workload({"engine": {"block_size": "x"}, "requests": []}, "tight.yaml")
    Traceback (most recent call last):
    ...
    reference.fields.WorkloadError: tight.yaml: engine.block_size: got "x"; allowed: a whole \
number from 1 to 10000000
    """
    # The parser makes the objects of this module, so this module cannot need it to be imported.
    from reference.workload_parser import read_workload

    return read_workload(data, source, PurePath(source).stem)


def _engine_to_dict(engine: EngineConfig) -> dict[str, Any]:
    data = _changed(engine, EngineConfig())
    if engine.kv_cache_groups is not None:
        data["kv_cache_groups"] = [spec.to_dict() for spec in engine.kv_cache_groups]
    if "variants" in data:
        data["variants"] = engine.variants.names()
    return data


def _changed(config: Any, default: Any) -> dict[str, Any]:
    """The fields in which a configuration differs from the default one."""
    return {
        f.name: getattr(config, f.name)
        for f in fields(config)
        if getattr(config, f.name) != getattr(default, f.name)
    }


def _request_to_dict(request: WorkloadRequest, model: ModelConfig) -> dict[str, Any]:
    params = request.sampling_params
    data: dict[str, Any] = {
        "id": request.id,
        "prompt": list(request.prompt_token_ids) if request.prompt is None else request.prompt,
        "max_tokens": params.max_tokens,
    }
    optional: dict[str, Any] = {
        "arrival": request.arrival,
        "priority": request.priority,
        "min_tokens": params.min_tokens,
        "ignore_eos": model.eos_token_id is not None and params.eos_token_id is None,
        "stop_token_ids": list(params.stop_token_ids),
        "lora_name": request.lora_name,
        "cache_salt": request.cache_salt,
        "prompt_logprobs": params.prompt_logprobs,
        "mm_features": [_plain(feature) for feature in request.mm_features],
        "stop": list(params.stop),
        "include_stop_str_in_output": params.include_stop_str_in_output,
        "stream_interval": params.stream_interval,
    }
    for name, default in (("n", 1), ("output_kind", "CUMULATIVE")):
        if getattr(params, name) != default:
            optional[name] = getattr(params, name)
    if params.repetition_detection is not None:
        optional["repetition_detection"] = _plain(params.repetition_detection)
    if request.abort is not None:
        when = "after_schedule" if request.abort.after_schedule else "before_schedule"
        optional["abort"] = {"step": request.abort.step, "when": when}
    if request.grammar is not None:
        optional["grammar"] = _plain(request.grammar)
    # Every default that is still among them is falsy.
    data |= {key: value for key, value in optional.items() if value}
    if not params.skip_special_tokens:
        data["skip_special_tokens"] = False
    return data if params.seed is None else data | {"seed": params.seed}


def _plain(record: Any) -> dict[str, Any]:
    return {f.name: getattr(record, f.name) for f in fields(record)}
