"""A verdict is plain data: it goes to JSON and comes back equal."""

import msgspec
import pytest

from grader.verdict import (
    Call,
    CheckResult,
    Differed,
    ExampleDiffered,
    ExampleResult,
    LoadError,
    Mismatched,
    Story,
    Verdict,
    decode,
    encode,
)

STORY = Story(["A pool of 8 blocks."], [Call("pool.get_new_blocks(2)", "[7, 6]", failing=True)])
FAILED = CheckResult(
    name="test_head",
    title="Allocation takes the head.",
    points=2,
    earned=0,
    outcome="failed",
    rule="How it really works",
    failure=Mismatched(story=STORY, expected="[1, 2]", actual="[7, 6]"),
)


def test_a_verdict_comes_back_from_json_equal() -> None:
    example = ExampleDiffered(source="1 + 1", expected="2", actual="3", line=4)
    verdict = Verdict(
        lesson="kv_cache/block_pool",
        status="failed",
        points=0,
        max_points=4,
        examples=[ExampleResult("BlockPool", "failed", example)],
        checks=[
            FAILED,
            msgspec.structs.replace(FAILED, failure=Differed(call="f()", actual_error="KeyError")),
        ],
        error=LoadError("syntax", "a.py", 3, "never closed", "close it"),
    )
    assert decode(encode(verdict)) == verdict


def test_the_first_failure_is_the_first_check_that_failed() -> None:
    passed = msgspec.structs.replace(FAILED, outcome="passed", failure=None)
    verdict = Verdict("a/b", "failed", 2, 4, checks=[passed, FAILED])
    assert verdict.first_failure is verdict.checks[1]


def test_what_is_no_verdict_is_an_error() -> None:
    with pytest.raises(msgspec.DecodeError):
        decode(b'{"lesson": 3}')
