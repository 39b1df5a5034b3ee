"""What ends a request, and in which order that is checked."""

import pytest
from engine_kit import make_request
from hypothesis import given
from hypothesis import strategies as st

from reference.request import RequestStatus
from reference.sampling_params import RepetitionDetectionParams
from reference.sched_utils import check_sequence_repetition, check_stop, remove_all

STOPPED = RequestStatus.FINISHED_STOPPED
CAPPED = RequestStatus.FINISHED_LENGTH_CAPPED
REPEATED = RequestStatus.FINISHED_REPETITION
TWICE = RepetitionDetectionParams(max_pattern_size=3, min_count=2)


@pytest.mark.parametrize(
    ("outputs", "params", "status", "reason"),
    [
        ([9], {"eos_token_id": 9, "stop_token_ids": (9,), "max_tokens": 1}, STOPPED, None),
        ([9], {"stop_token_ids": (9,), "max_tokens": 1}, STOPPED, 9),
        ([9], {"eos_token_id": 9, "min_tokens": 5}, STOPPED, None),
        ([9, 9], {"max_tokens": 2, "repetition_detection": TWICE}, CAPPED, None),
        ([9, 9], {"repetition_detection": TWICE}, REPEATED, "repetition_detected"),
        ([9, 9], {"repetition_detection": TWICE, "min_tokens": 3}, None, None),
        ([9], {}, None, None),
    ],
)
def test_the_first_true_condition_ends_a_request(
    outputs: list[int], params: dict[str, object], status: RequestStatus | None, reason: object
) -> None:
    request = make_request("r", 4, **params)
    for token in outputs:
        request.append_output_token_id(token)
    assert check_stop(request, max_model_len=100) == (status is not None)
    assert request.status == (status or RequestStatus.WAITING)
    assert request.stop_reason == reason


def test_the_longest_sequence_ends_a_request() -> None:
    request = make_request("r", 4)
    request.append_output_token_id(1)
    assert not check_stop(request, max_model_len=6)
    assert check_stop(request, max_model_len=5)


def test_the_prompt_repeats_for_nothing() -> None:
    request = make_request("r", [5] * 10, repetition_detection=TWICE)
    request.append_output_token_id(5)
    assert not check_stop(request, max_model_len=100)


@given(
    st.lists(st.integers(0, 2), max_size=12),
    st.integers(0, 4),
    st.integers(0, 4),
    st.integers(0, 4),
)
def test_repetition_agrees_with_its_definition(
    tokens: list[int], largest: int, smallest: int, count: int
) -> None:
    sizes = range(max(smallest, 1), largest + 1)
    expected = count >= 2 and any(
        len(tokens) >= size * count and tokens[-size * count :] == tokens[-size:] * count
        for size in sizes
    )
    params = RepetitionDetectionParams(largest, smallest, count)
    assert check_sequence_repetition(tokens, params) == expected


@given(st.sets(st.integers(0, 5)))
def test_removing_keeps_the_order_of_the_others(unwanted: set[int]) -> None:
    requests = [make_request(str(i)) for i in range(5)]
    gone = {request for request in requests if int(request.request_id) in unwanted}
    left = remove_all(list(requests), gone)
    assert left == [request for request in requests if request not in gone]
