"""Workloads: what they may say, and what is said of those that may not be run."""

from typing import Any

import pytest

from reference.config import EngineConfig
from reference.workload import Abort, Grammar, WorkloadError, draw_tokens, parse_workload

ONE = {"id": "a", "prompt": [1, 2, 3], "max_tokens": 4}


def parse(**changes: Any) -> Any:
    return parse_workload({"requests": [ONE]} | changes, "dir/tight.yaml")


def request(**changes: Any) -> Any:
    return parse(requests=[ONE | changes]).requests[0]


def engine(**changes: Any) -> Any:
    return parse(engine=changes).engine


WRONG = [
    ([1], "workload: got [1]; allowed: a mapping with engine,"),
    ({}, "requests: missing; allowed: a list of requests"),
    ({"requests": 3}, "requests: got 3; allowed: a list"),
    ({"requests": [], "engin": {}}, 'engin: unknown key; did you mean "engine"?; allowed: engine,'),
    (
        {"requests": [], "max_steps": 0},
        "max_steps: got 0; allowed: a whole number from 1 to 1000000",
    ),
    ({"requests": [], "max_steps": 10**15}, "max_steps: got 1000000000000000; allowed: a whole"),
    (
        {"requests": [], "prefixes": {"p": {"length": 10**12, "seed": 1}}},
        "prefixes.p.length: got 1000000000000; allowed: a whole number from 1 to",
    ),
    ({"requests": [], "model": {"vocab_size": 10**23}}, 'model.vocab_size: got "a whole number'),
    ({"requests": [], "engine": []}, "engine: got []; allowed: a mapping with block_size,"),
    (
        {"requests": [], "reset_prefix_cache": [-1]},
        "reset_prefix_cache[0]: got -1; allowed: a whole",
    ),
]
CYCLE: list[object] = []
CYCLE.append(CYCLE)
LAUGHS: list[object] = [1] * 10
for _ in range(20):
    LAUGHS = [LAUGHS] * 10
WRONG_ENGINE = [
    ({"block_size": CYCLE}, 'block_size: got [[["..."]]]; allowed: a whole number'),
    ({"block_size": LAUGHS}, "block_size: got [[["),
    ({"block_size": 1 << 400_000}, 'block_size: got "a whole number of 400001 bits"; allowed'),
    ({"num_gpu_blocks": 10**11}, "num_gpu_blocks: got 100000000000; allowed: a whole number from"),
    ({"max_model_len": 10**14}, "max_model_len: got 100000000000000; allowed: a whole number from"),
    ({"block_size": "x"}, 'block_size: got "x"; allowed: a whole number from 1 to 10000000'),
    ({"block_size": True}, "block_size: got true; allowed: a whole number from 1 to 10000000"),
    ({"block_size": 4.0}, "block_size: got 4.0; allowed: a whole number from 1 to 10000000"),
    ({"num_gpu_blocks": 1}, "num_gpu_blocks: got 1; allowed: a whole number from 2 to 10000000"),
    ({"policy": "lifo"}, 'policy: got "lifo"; allowed: fcfs or priority'),
    ({"watermark": 1}, "watermark: got 1.0; allowed: a number from 0 to below 1"),
    ({"watermark": float("nan")}, "watermark: got nan; allowed: a number from 0 to below 1"),
    ({"async_scheduling": 1}, "async_scheduling: got 1; allowed: true or false"),
    ({"num_speculative_tokens": -1}, "num_speculative_tokens: got -1; allowed: a whole number"),
    (
        {"num_speculative_tokens": 4, "long_prefill_token_threshold": 4},
        "long_prefill_token_threshold: got 4; allowed: above num_speculative_tokens (4)",
    ),
    ({"watermark": None}, "watermark: got null; allowed: a number"),
    ({"enable_prefix_caching": 1}, "enable_prefix_caching: got 1; allowed: true or false"),
    (
        {"max_num_seqs": 65},
        "max_num_batched_tokens: got 64; allowed: at least max_num_seqs (65)",
    ),
    (
        {"enable_chunked_prefill": False},
        "max_num_batched_tokens: got 64 without chunked prefill; allowed: at least max_model_len",
    ),
    (
        {"max_num_scheduled_tokens": 0},
        "max_num_scheduled_tokens: got 0; allowed: a whole number from 1 to 10000000, or null",
    ),
]
WRONG_REQUEST = [
    ({"id": ""}, 'id: got ""; allowed: a text'),
    ({"id": "\x00"}, 'id: got "\\u0000"; allowed: 1 to 64 characters that print'),
    ({"id": "x" * 65}, 'id: got "xxx'),
    ({"priority": 1 << 100}, 'priority: got "a whole number of 101 bits"; allowed: a whole number'),
    ({"id": 7}, "id: got 7; allowed: a text of at least one character, in quotes"),
    ({"prompt": []}, "prompt: 0 tokens; allowed: 1 to 511 tokens"),
    ({"prompt": [1] * 512}, "prompt: 512 tokens; allowed: 1 to 511 tokens (below max_model_len)"),
    ({"prompt": [1, 1000]}, "prompt[1]: got 1000; allowed: a whole number from 0 to 999"),
    ({"prompt": True}, "prompt: got true; allowed: a text, a list of tokens, or a mapping"),
    ({"prompt": {"length": 5}}, "prompt.seed: missing; allowed: a whole number"),
    ({"prompt": {"length": 10**12, "seed": 1}}, "prompt.length: got 1000000000000; allowed: a"),
    ({"prompt": {"prefix": "sys"}}, 'prompt.prefix: got "sys"; allowed: one of prefixes: none'),
    ({"max_tokens": 0}, "max_tokens: got 0; allowed: a whole number of at least 1"),
    ({"min_tokens": 5}, "min_tokens: got 5; allowed: a whole number from 0 to 4"),
    ({"stop_token_ids": [1000]}, "stop_token_ids[0]: got 1000; allowed: a whole number from 0"),
    ({"arrival": 1000}, "arrival: got 1000; allowed: a whole number from 0 to 999"),
    ({"abort": 0}, "abort: got 0; allowed: a whole number of at least 1"),
    ({"arrival": 3, "abort": {"step": 2, "when": "after_schedule"}}, "abort.step: got 2; allowed"),
    ({"abort": {"step": 2, "when": "never"}}, 'abort.when: got "never"; allowed: before_schedule'),
    ({"grammar": {"step": 1, "compiles": 0}}, "grammar.compiles: got 0; allowed: true or false"),
    ({"lora_name": ""}, 'lora_name: got ""; allowed: a text'),
    (
        {"mm_features": [{"identifier": "A", "offset": 1, "length": 3}]},
        "mm_features[0].length: got 3; allowed: a whole number from 1 to 2",
    ),
    (
        {"mm_features": [{"identifier": n, "offset": 1, "length": 1} for n in "AB"]},
        "mm_features[1].offset: got 1; allowed: a whole number from 2 to 2",
    ),
    (
        {"mm_features": [{"identifier": n, "offset": 1, "length": 2} for n in "AB"]},
        "mm_features[1].offset: got 1; allowed: none, for those before it leave no room",
    ),
    (
        {"repetition_detection": {"max_pattern_size": 2, "min_count": 1}},
        "repetition_detection.min_count: got 1; allowed: a whole number of at least 2",
    ),
]


@pytest.mark.parametrize(("data", "line"), WRONG)
def test_a_workload_that_is_wrong_gets_one_line(data: object, line: str) -> None:
    with pytest.raises(WorkloadError) as caught:
        parse_workload(data, "tight.yaml")
    assert str(caught.value).startswith(f"tight.yaml: {line}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("changes", "line"), WRONG_ENGINE)
def test_limits_that_are_wrong_get_one_line(changes: dict[str, Any], line: str) -> None:
    with pytest.raises(WorkloadError) as caught:
        engine(**changes)
    assert str(caught.value).startswith(f"dir/tight.yaml: engine.{line}")


@pytest.mark.parametrize(("changes", "line"), WRONG_REQUEST)
def test_requests_that_are_wrong_get_one_line(changes: dict[str, Any], line: str) -> None:
    with pytest.raises(WorkloadError) as caught:
        request(**changes)
    assert str(caught.value).startswith(f"dir/tight.yaml: requests[0].{line}")


def test_an_error_carries_its_parts() -> None:
    with pytest.raises(WorkloadError) as caught:
        engine(block_size="x")
    error = caught.value
    assert (error.source, error.key) == ("dir/tight.yaml", "engine.block_size")
    assert (error.problem, error.allowed) == ('got "x"', "a whole number from 1 to 10000000")


def test_ids_are_given_once() -> None:
    with pytest.raises(WorkloadError, match=r'requests\[1\].id: got "a" again'):
        parse(requests=[ONE, ONE])


def test_a_vocabulary_that_only_stops_cannot_run_on() -> None:
    changes = {"stop_token_ids": [0], "prompt": [0], "min_tokens": 1}
    with pytest.raises(WorkloadError, match="every token ends this request"):
        parse(model={"vocab_size": 1}, requests=[ONE | changes])


def test_what_is_not_said_has_its_default() -> None:
    workload = parse()
    assert workload.name == "tight"
    assert workload.engine == EngineConfig()
    assert workload.model.vocab_size == 1000
    assert workload.max_steps == 1000


def test_prompts_are_drawn_after_their_prefix() -> None:
    prefixes = {"drawn": {"length": 5, "seed": 7}, "written": [1, 2]}
    requests = [
        ONE | {"id": "x", "prompt": {"prefix": "drawn", "length": 3, "seed": 1}},
        ONE | {"id": "y", "prompt": {"prefix": "written"}},
    ]
    drawn, written = parse(prefixes=prefixes, requests=requests).requests
    assert drawn.prompt_token_ids == draw_tokens(7, 5, 1000) + draw_tokens(1, 3, 1000)
    assert written.prompt_token_ids == (1, 2)


def test_drawn_tokens_never_change() -> None:
    assert draw_tokens(seed=7, length=6, vocab_size=1000) == (221, 257, 587, 32, 403, 631)


def test_arrival_times_rank_by_step_then_file_order() -> None:
    arrivals = [3, 0, 3, 1]
    requests = [ONE | {"id": str(i), "arrival": a} for i, a in enumerate(arrivals)]
    assert [r.arrival_time for r in parse(requests=requests).requests] == [2.0, 0.0, 3.0, 1.0]


def test_aborts_and_grammars_have_a_short_form() -> None:
    assert request(abort=2).abort == Abort(2)
    assert request(abort={"step": 2}).abort == Abort(2)
    assert request(abort={"step": 0, "when": "after_schedule"}).abort == Abort(0, True)
    assert request(grammar=2).grammar == Grammar(2)


def test_ignoring_the_end_of_the_sequence_leaves_no_such_token() -> None:
    model = {"eos_token_id": 9}
    plain, ignoring = parse(
        model=model, requests=[ONE, ONE | {"id": "b", "ignore_eos": True}]
    ).requests
    assert plain.sampling_params.eos_token_id == 9
    assert ignoring.sampling_params.eos_token_id is None


def test_a_workload_survives_being_written_as_plain_data() -> None:
    full = {
        "engine": {"block_size": 4, "policy": "priority", "watermark": 0.1}
        | {"async_scheduling": True, "num_speculative_tokens": 2},
        "model": {"vocab_size": 50, "eos_token_id": 3},
        "max_steps": 77,
        "reset_prefix_cache": [4],
        "reset_running_requests": [5, 6],
        "requests": [
            ONE
            | {
                "arrival": 2,
                "priority": -1,
                "min_tokens": 1,
                "ignore_eos": True,
                "stop_token_ids": [5],
                "repetition_detection": {"max_pattern_size": 2, "min_count": 3},
                "lora_name": "l",
                "cache_salt": "s",
                "mm_features": [{"identifier": "A", "offset": 0, "length": 2}],
                "prompt_logprobs": True,
                "abort": {"step": 2, "when": "after_schedule"},
                "grammar": {"step": 3, "compiles": False},
            },
            ONE | {"id": "b", "prompt": {"length": 3, "seed": 1}},
        ],
    }
    workload = parse_workload(full, "tight.yaml")
    assert parse_workload(workload.to_dict(), "tight.yaml") == workload
