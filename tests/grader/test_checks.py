"""What a suite is written with, on a plainly imported submission."""

from typing import Any

import pytest

from grader.checks import (
    Differs,
    Mismatch,
    Raised,
    Unmet,
    WrongError,
    compare,
    expect,
    expect_error,
    require,
)


class Counter:
    def __init__(self, start: int = 0) -> None:
        self.count = start

    def add(self, number: int) -> int:
        if number < 0:
            raise ValueError("below 0")
        self.count += number
        return self.count

    def merge(self, other: Any) -> int:
        self.count += other.count
        return self.count


class Wrong(Counter):
    def add(self, number: int) -> int:
        return super().add(abs(number) % 10)


def test_expect_carries_both_values_and_the_reason() -> None:
    with pytest.raises(Mismatch) as caught:
        expect([1], (1,), "A list was given.")
    error = caught.value
    assert (error.actual, error.expected, error.because) == ([1], (1,), "A list was given.")


def test_an_error_is_accepted_by_its_name_or_that_of_a_base() -> None:
    expect_error(lambda: {}["a"], "KeyError")
    expect_error(lambda: {}["a"], "LookupError")


def test_another_error_or_none_is_wrong() -> None:
    with pytest.raises(WrongError) as another:
        expect_error(lambda: {}["a"], "ValueError")
    assert another.value.raised == "KeyError"
    with pytest.raises(WrongError) as none:
        expect_error(lambda: 3, "ValueError")
    assert (none.value.raised, none.value.value) == (None, 3)


def test_what_is_not_written_yet_is_never_a_wrong_error() -> None:
    def stub() -> None:
        raise NotImplementedError("f: do it")

    with pytest.raises(NotImplementedError):
        expect_error(stub, "ValueError")
    with pytest.raises(NotImplementedError):
        compare(type("Stub", (), {"add": lambda *_: stub()})(), Counter()).add(1)


def test_require_carries_its_facts() -> None:
    with pytest.raises(Unmet) as caught:
        require(False, "The usage never exceeds one.", usage=1.2)
    assert caught.value.facts == {"usage": 1.2}


def test_a_twin_gives_what_both_sides_give() -> None:
    twin = compare(Counter(1), Counter(1))
    assert twin.add(2) == 3
    assert twin.count == 3
    assert twin.add(-1) == Raised("ValueError")
    assert twin.merge(compare(Counter(4), Counter(4))) == 7


def test_a_twin_whose_sides_differ_tells_the_call() -> None:
    twin = compare(Wrong(), Counter())
    with pytest.raises(Differs) as caught:
        twin.add(12)
    assert (caught.value.call, caught.value.expected, caught.value.actual) == ("add(12)", 12, 2)
    with pytest.raises(Differs) as raised:
        compare(Wrong(), Counter()).add(-1)
    assert raised.value.expected == Raised("ValueError")


def test_a_bug_of_the_reference_is_not_the_submissions() -> None:
    with pytest.raises(TypeError):
        compare(Counter(), Counter()).add("1")


def test_a_failure_is_written_only_when_it_is_read_and_never_at_length() -> None:
    huge = [10**5000, *range(300_000)]
    facts: dict[str, object] = {"order": huge}
    for error in (
        Mismatch([], huge),
        Unmet("They are in order.", facts),
        WrongError("ValueError", None, "", huge),
        Differs("order()", [], huge),
    ):
        assert len(str(error)) < 1000


def test_neither_side_sees_what_the_other_does_to_an_argument() -> None:
    class Taker:
        def take(self, ids: list[int]) -> int:
            return ids.pop()

    ids = [1, 2]
    compare(Taker(), Taker()).take(ids)
    assert ids == [1, 2]
