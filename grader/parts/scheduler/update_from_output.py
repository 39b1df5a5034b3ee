"""Puts a submission's ``check_stop`` into the engine."""

from dataclasses import replace
from typing import Any

from reference.engine import Parts
from reference.request import Request, RequestStatus


def install(parts: Parts, lesson: Any) -> Parts:
    def check_stop(request: Request, max_model_len: int) -> bool:
        status, stop_reason = lesson.check_stop(
            list(request.output_token_ids),
            request.num_prompt_tokens,
            sampling_params(lesson, request),
            max_model_len,
        )
        if status is None:
            return False
        request.status = RequestStatus[status]
        request.stop_reason = stop_reason
        return True

    return replace(parts, check_stop=check_stop)


def sampling_params(lesson: Any, request: Request) -> Any:
    """The lesson's ``SamplingParams`` of an engine's request."""
    params = request.sampling_params
    repetition = params.repetition_detection
    triple = repetition and (
        repetition.max_pattern_size,
        repetition.min_pattern_size,
        repetition.min_count,
    )
    return lesson.SamplingParams(
        max_tokens=params.max_tokens,
        min_tokens=params.min_tokens,
        eos_token_id=params.eos_token_id,
        stop_token_ids=params.stop_token_ids,
        repetition_detection=triple,
    )
