"""The loop between the core's two queues."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.oracle.front.reference_core import ReferenceCore


def core(**changes: Any) -> ReferenceCore:
    script = {"engine": {}, "batch_queue_size": 1, "shutdown_timeout": 0, "during": []}
    return ReferenceCore(script | changes)


def turns(of: ReferenceCore, count: int = 12) -> list[Any]:
    """All that goes out in so many turns."""
    told = []
    for _ in range(count):
        going = of.turn()
        told += of.outputs()
        if not going:
            break
    return told


def tokens(told: list[Any], request_id: str) -> list[int]:
    return [
        token for _, outputs, _ in told for i, new, _ in outputs if i == request_id for token in new
    ]


def answers(told: list[Any]) -> list[Any]:
    return [utility for _, _, utility in told if utility is not None]


def test_one_more_step_tells_that_a_request_is_over() -> None:
    of = core()
    of.add("a", 10, 3, 0)
    assert len(tokens(turns(of), "a")) == 3
    assert [scheduled for scheduled, _ in of.executed] == [{"a": 10}, {"a": 1}, {"a": 1}, {}]
    assert of.executed[-1][1] == ["a"]


@given(st.integers(1, 3), st.integers(1, 6), st.integers(1, 20))
def test_batches_in_flight_change_no_tokens(size: int, max_tokens: int, prompt: int) -> None:
    found = []
    for queue in (1, size):
        of = core(batch_queue_size=queue)
        of.add("a", prompt, max_tokens, 0)
        of.add("b", 3, 2, 0)
        told = turns(of, 30)
        found.append((tokens(told, "a"), tokens(told, "b")))
    assert found[0] == found[1]


def test_an_abort_while_the_model_runs_takes_the_step_s_token() -> None:
    of = core(during=[[1, ["a"]]])
    of.add("a", 4, 5, 0)
    told = turns(of)
    assert len(tokens(told, "a")) == 1
    assert of.executed[-1] == [{}, ["a"]]


def test_an_abort_is_no_output_and_needs_no_request() -> None:
    of = core()
    of.abort(["a", "unknown"])
    of.add("a", 4, 2, 0)
    of.turn()
    of.abort(["a"])
    told = of.outputs() + turns(of)
    assert all(reason is None for _, outputs, _ in told for _, _, reason in outputs)


def test_a_utility_call_is_answered_once_to_its_client_and_disturbs_nobody() -> None:
    of = core()
    of.add("a", 4, 2, 1)
    of.utility(2, 7, "nothing", [])
    of.utility(2, 8, "is_scheduler_paused", [])
    told = turns(of)
    assert [(client, utility[0]) for client, _, utility in told if utility] == [(2, 7), (2, 8)]
    assert answers(told)[0][1].startswith("Call to nothing method failed: ")
    assert answers(told)[1] == [8, None, False]
    assert len(tokens(told, "a")) == 2


@pytest.mark.parametrize("mode", ["abort", "wait", "keep"])
def test_a_pause_holds_up_new_requests_until_it_ends(mode: str) -> None:
    of = core()
    of.utility(0, 1, "pause_scheduler", [mode])
    of.add("a", 4, 2, 0)
    assert tokens(turns(of), "a") == []
    of.utility(0, 2, "resume_scheduler", [])
    assert len(tokens(turns(of), "a")) == 2


def test_kept_requests_go_on_with_the_same_tokens_and_compute_them_anew() -> None:
    plain, paused = core(), core()
    for of in (plain, paused):
        of.add("a", 10, 4, 0)
    expected = tokens(turns(plain), "a")
    paused.turn()
    paused.utility(0, 1, "pause_scheduler", ["keep", True])
    told = paused.outputs() + turns(paused, 3)
    paused.utility(0, 2, "resume_scheduler", [])
    told += turns(paused)
    assert tokens(told, "a") == expected
    assert {"a": 11} in [scheduled for scheduled, _ in paused.executed]


def test_waiting_for_a_pause_is_answered_when_the_last_request_has_ended() -> None:
    of = core()
    of.add("a", 4, 3, 0)
    of.turn()
    of.utility(0, 1, "pause_scheduler", ["wait"])
    told = of.outputs() + turns(of)
    assert told[-1][2] == [1, None, None]
    assert len(tokens(told, "a")) == 3


def test_a_partly_woken_executor_leaves_all_waiting() -> None:
    of = core()
    of.utility(0, 1, "sleep", [])
    turns(of, 2)
    of.utility(0, 2, "wake_up", [["weights"]])
    of.utility(0, 3, "is_sleeping", [])
    of.utility(0, 4, "wake_up", [["kv_cache"]])
    of.utility(0, 5, "is_sleeping", [])
    assert [answer[2] for answer in answers(turns(of, 2))] == [None, True, None, False]


@pytest.mark.parametrize(("timeout", "num_tokens", "reason"), [(0, 1, "abort"), (30, 3, "length")])
def test_the_end_aborts_or_lets_finish(timeout: int, num_tokens: int, reason: str) -> None:
    of = core(shutdown_timeout=timeout)
    of.add("a", 4, 3, 0)
    of.turn()
    of.shutdown()
    of.add("late", 4, 3, 0)
    of.utility(0, 1, "is_sleeping", [])
    told = of.outputs() + turns(of)
    ends = {i: end for _, outputs, _ in told for i, _, end in outputs if end}
    assert (len(tokens(told, "a")), ends) == (num_tokens, {"a": reason, "late": "abort"})
    assert answers(told) == [[1, "Server shutting down", None]]
    assert not of.turn()


def test_a_failed_executor_ends_the_loop_and_the_clients_are_told() -> None:
    of = core()
    of.fail()
    assert of.run() == [b"ENGINE_CORE_DEAD"]
