"""What a request must be before the core sees it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.input_processor import InputProcessor, VLLMValidationError
from reference.sampling_params import SamplingParams
from reference.tokenizer import default_tokenizer

LIMIT = 64


def processor(**options: Any) -> InputProcessor:
    return InputProcessor(max_model_len=LIMIT, vocab_size=100, **options)


@pytest.mark.parametrize(
    ("length", "rendered", "problem"),
    [
        (0, False, "cannot be empty"),
        (64, False, "plus the number of requested output"),
        (65, False, "maximum context length"),
        (65, True, "longer than the maximum model length"),
    ],
)
def test_a_prompt_leaves_room_for_an_output(length: int, rendered: bool, problem: str) -> None:
    with pytest.raises(VLLMValidationError, match=problem):
        processor().process_inputs("a", [1] * length, SamplingParams(), rendered=rendered)


@given(st.integers(1, 63))
def test_what_is_not_asked_for_is_all_that_there_is_room_for(length: int) -> None:
    made = processor().process_inputs("a", [1] * length, SamplingParams(max_tokens=None))
    assert length + (made.sampling_params.max_tokens or 0) == LIMIT
    kept = processor().process_inputs("a", [1] * length, SamplingParams(max_tokens=1000))
    assert kept.sampling_params.max_tokens == 1000


@pytest.mark.parametrize(
    ("has_tokenizer", "side", "kept"),
    [(True, None, [7, 8, 9]), (False, None, [0, 1, 2]), (True, "right", [0, 1, 2])],
)
def test_truncation_keeps_one_end(has_tokenizer: bool, side: Any, kept: list[int]) -> None:
    front = processor(max_token_id=99 if has_tokenizer else None)
    made = front.process_inputs(
        "a", range(10), SamplingParams(), truncate_prompt_tokens=3, truncation_side=side
    )
    assert made.prompt_token_ids == kept


def test_all_that_ends_a_sequence_is_collected() -> None:
    front = InputProcessor(
        64, 300, eos_token_id=258, generation_config={"eos_token_id": [258, 7, 9]}
    )
    wanted = SamplingParams(stop_token_ids=(3, 7))
    params = front.process_inputs("a", [1], wanted).sampling_params
    assert (set(params.stop_token_ids), params.eos_token_id) == ({3, 7, 9}, 258)
    ignoring = SamplingParams(stop_token_ids=(3,), ignore_eos=True)
    params = front.process_inputs("a", [1], ignoring).sampling_params
    assert (params.stop_token_ids, params.eos_token_id) == ((3,), None)
    assert params.all_stop_token_ids == {3, 7, 9, 258}
    assert wanted == SamplingParams(stop_token_ids=(3, 7))


def test_parameters_are_checked_before_the_rank_and_the_rank_before_the_prompt() -> None:
    bad = SamplingParams(stop_token_ids=(100,))
    with pytest.raises(VLLMValidationError, match="stop_token_ids"):
        processor().process_inputs("a", [], bad, data_parallel_rank=1)
    with pytest.raises(VLLMValidationError, match="data_parallel_rank"):
        processor().process_inputs("a", [], SamplingParams(), data_parallel_rank=1)


def test_tokens_are_checked_where_there_is_a_tokenizer() -> None:
    processor().process_inputs("a", [5000, -1], SamplingParams())
    processor(max_token_id=120).process_inputs("a", [120], SamplingParams())
    for token in (121, -1):
        with pytest.raises(VLLMValidationError, match="out of vocabulary"):
            processor(max_token_id=120).process_inputs("a", [token], SamplingParams())


def test_a_text_becomes_tokens() -> None:
    front = InputProcessor(64, 1000, tokenizer=default_tokenizer())
    made = front.process_inputs("a", "the end", SamplingParams())
    assert default_tokenizer().decode(made.prompt_token_ids) == "the end"
    with pytest.raises(VLLMValidationError, match="needs a tokenizer"):
        processor().process_inputs("a", "the end", SamplingParams())


def test_requests_under_one_id_are_told_apart_once() -> None:
    front = processor()
    made = [front.process_inputs("a", [1], SamplingParams()) for _ in range(2)]
    for request in made:
        front.assign_request_id(request)
    assert len({request.request_id for request in made}) == 2
    assert {request.external_req_id for request in made} == {"a"}
    with pytest.raises(ValueError, match="already"):
        front.assign_request_id(made[0])
