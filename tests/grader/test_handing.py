"""How a part of the engine reaches a submission."""

from collections.abc import Iterator

import pytest

from grader import handing


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = handing._handing_in[-1]
    yield
    handing.hand_in_as(before)


def test_a_plainly_imported_submission_gets_the_part_itself() -> None:
    part = [3, 1, 2]
    assert handing.hand_in(part, "pop") is part


def test_the_runner_says_what_is_handed_in_instead() -> None:
    handing.hand_in_as(lambda part, methods: (part, methods))
    assert handing.hand_in("pool", "touch", "ref_cnt") == ("pool", ("touch", "ref_cnt"))
