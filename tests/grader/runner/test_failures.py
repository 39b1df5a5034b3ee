"""Which call of a story is marked as the one to blame."""

import pytest

from grader.checks import Differs, Mismatch, Unmet
from grader.runner.failures import failure_of
from grader.verdict import Call, Story

CALLS = [
    Call("pool = Pool(3)", ""),
    Call("pool.take(2)", "[0, 1]"),
    Call("  queue.popleft()", "0"),
    Call("pool.state()", "State(free=[2], taken={'a': [0, 1]}, used=2)"),
    Call("  queue.all()", "[2]"),
]


@pytest.mark.parametrize(
    ("error", "blamed"),
    [
        (Mismatch([0], [0, 1]), "pool.take(2)"),
        (Mismatch([1], [2]), "pool.state()"),
        (Mismatch({}, {"a": [0, 1]}), "pool.state()"),
        (Mismatch(1, 2), "pool.state()"),
        (Mismatch(1, 0), None),
        (Differs("state()", 1, 2), "pool.state()"),
        (Unmet("All are free.", {}), None),
    ],
    ids=["result", "field", "field in the middle", "last field", "a part's", "twin", "property"],
)
def test_the_suites_call_that_gave_what_is_wrong_is_marked(
    error: Exception, blamed: str | None
) -> None:
    failure = failure_of(error, Story([], CALLS))
    assert failure is not None
    marked = [call.text for call in failure.story.calls if call.failing]
    assert marked == ([blamed] if blamed else [])
