"""When a request is over."""

from collections.abc import Callable, Sequence

from reference.request import Request, RequestStatus
from reference.sampling_params import RepetitionDetectionParams


def check_stop(request: Request, max_model_len: int) -> bool:
    """Whether the token just appended ends the request; sets its status and stop reason then.

    The order of the checks tells what the client learns: the end of the sequence comes before
    a stop token, both before the length, and only repetition waits for ``min_tokens``.
    """
    params = request.sampling_params
    last_token = request.all_token_ids[-1]
    if last_token == params.eos_token_id:
        request.status = RequestStatus.FINISHED_STOPPED
        return True
    if last_token in params.stop_token_ids:
        request.status = RequestStatus.FINISHED_STOPPED
        request.stop_reason = last_token
        return True
    num_tokens = request.num_tokens
    num_outputs = num_tokens - request.num_prompt_tokens
    if num_tokens >= max_model_len or num_outputs >= request.max_tokens:
        request.status = RequestStatus.FINISHED_LENGTH_CAPPED
        return True
    detection = params.repetition_detection
    if detection is None or num_outputs < params.min_tokens:
        return False
    if check_sequence_repetition(request.output_token_ids, detection):
        request.status = RequestStatus.FINISHED_REPETITION
        request.stop_reason = "repetition_detected"
        return True
    return False


def min_tokens_first(check_stop: Callable[[Request, int], bool]) -> Callable[[Request, int], bool]:
    """The check as it was when nothing at all ended a request below its ``min_tokens``."""

    def check(request: Request, max_model_len: int) -> bool:
        num_outputs = request.num_tokens - request.num_prompt_tokens
        if num_outputs < request.sampling_params.min_tokens:
            return False
        return check_stop(request, max_model_len)

    return check


def check_sequence_repetition(token_ids: Sequence[int], params: RepetitionDetectionParams) -> bool:
    """Whether the tokens end in ``min_count`` copies of one pattern.

    >>> check_sequence_repetition([9, 1, 2, 1, 2], RepetitionDetectionParams(3, 1, 2))
    True
    """
    count = params.min_count
    if count < 2:
        return False
    for size in range(max(params.min_pattern_size, 1), params.max_pattern_size + 1):
        if size * count > len(token_ids):
            return False
        tail = list(token_ids[len(token_ids) - size * count :])
        # All copies are equal exactly when the tail does not change, shifted by one copy.
        if tail[size:] == tail[:-size]:
            return True
    return False


def remove_all(requests: list[Request], unwanted: set[Request]) -> list[Request]:
    """The requests without the unwanted ones, in order; one alone is removed in place."""
    if len(unwanted) == 1:
        (request,) = unwanted
        if request in requests:
            requests.remove(request)
        return requests
    return [request for request in requests if request not in unwanted]
