"""How the smallest failing case of a check is found."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader import checks, drawing
from grader.checks import check, expect, new_story, story
from grader.runner.failures import failure_of
from grader.runner.search import CASES_AFTER_FAILURE, Search
from grader.verdict import (
    AnyFailure,
    Call,
    Mismatched,
    NotImplementedYet,
    Raised,
    Story,
    TimedOut,
    Unusable,
)
from grader.worker import Call as Called
from grader.worker.errors import CallTimedOut, LoadFailed, SubmissionRaised
from grader.worker.errors import Unusable as TooMuch


def search(test: Callable[..., None], **arguments: Any) -> Search:
    drawing.load()
    ran = Search(checks.begin_story, judge)
    ran.run(test, arguments)
    return ran


def judge(error: BaseException) -> AnyFailure | None:
    """As the runner does it; `called` are the calls of the submission."""
    return failure_of(error, Story(checks.setting(), [Call("f()", "None") for _ in called]), called)


called: list[Called] = []


def test_a_check_that_holds_has_no_failure() -> None:
    @check(points=1, rule="r")
    @given(number=st.integers())
    def holds(number: int) -> None:
        expect(number, number)

    ran = search(holds)
    assert (ran.failure, ran.broken) == (None, None)


def test_the_smallest_case_is_kept_with_its_own_story() -> None:
    @check(points=1, rule="r")
    @given(numbers=st.lists(st.integers(0, 1000)))
    def small(numbers: list[int]) -> None:
        story(f"The numbers {numbers}.")
        expect(any(number > 10 for number in numbers), False)

    failure = search(small).failure
    assert isinstance(failure, Mismatched)
    assert failure.story.setting == ["The numbers [11]."]


def test_a_check_may_start_its_story_again() -> None:
    begun: list[str] = []

    def begin() -> None:
        begun.append("a story")
        checks.begin_story()

    @check(points=1, rule="r")
    def two_things() -> None:
        story("The first.")
        new_story()
        story("The second.")
        expect(1, 2)

    ran = Search(begin, judge)
    ran.run(two_things, {})
    assert ran.failure is not None
    assert ran.failure.story.setting == ["The second."]
    assert len(begun) == 2  # the case, and its second thing


def test_the_search_is_bounded_by_cases_and_always_ends_the_same() -> None:
    cases = []

    def fresh() -> Any:
        @check(points=1, rule="r")
        @given(numbers=st.lists(st.integers(0, 10**9), min_size=60))
        def never_small(numbers: list[int]) -> None:
            cases.append(numbers)
            story(f"{numbers}")
            expect(len(set(numbers)), -1)

        return search(never_small).failure

    first, ran = fresh(), len(cases)
    assert ran <= CASES_AFTER_FAILURE + drawing.EXAMPLES
    assert fresh() == first


def test_a_timeout_or_a_part_not_written_ends_the_search_at_once() -> None:
    for error, kind in (
        (CallTimedOut("pool.touch([1])", 5.0), TimedOut),
        (SubmissionRaised("NotImplementedError", (), "Pool.touch: m", 3, "c"), NotImplementedYet),
    ):
        cases = []

        @check(points=1, rule="r")
        @given(number=st.integers())
        def never(number: int) -> None:
            cases.append(number)  # noqa: B023 (called before the next turn)
            raise error  # noqa: B023

        assert isinstance(search(never).failure, kind)
        assert len(cases) == 1


def test_a_submission_that_answers_differently_each_time_fails_with_what_it_answered_once() -> None:
    answers = iter([True, *[False] * 10_000])

    @check(points=1, rule="r")
    @given(number=st.integers())
    def flaky(number: int) -> None:
        del number
        expect(next(answers), False)

    ran = search(flaky)
    assert isinstance(ran.failure, Mismatched)
    assert ran.broken is None


def test_a_fault_of_the_suite_is_told_as_such() -> None:
    @check(points=1, rule="r")
    def broken() -> None:
        raise KeyError("a typing error")

    ran = search(broken)
    assert ran.failure is None
    assert "a typing error" in str(ran.broken)


def test_cases_that_hypothesis_rejects_are_no_failures() -> None:
    from hypothesis import assume

    @check(points=1, rule="r")
    @given(number=st.integers())
    def picky(number: int) -> None:
        assume(number % 2 == 0)
        expect(number % 2, 0)

    ran = search(picky)
    assert (ran.failure, ran.broken) == (None, None)


@pytest.fixture
def a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "called", [Called("f()", None)])


@pytest.mark.usefixtures("a_call")
def test_what_a_suite_cannot_do_with_a_result_is_the_submissions_failure() -> None:
    @check(points=1, rule="r")
    @given(number=st.integers())
    def unpacks(number: int) -> None:
        result: Any = None if number > 10 else (1, 2)
        _, _ = result

    ran = search(unpacks)
    assert isinstance(ran.failure, Unusable)
    assert ran.broken is None
    assert "cannot unpack non-iterable NoneType" in ran.failure.problem


@pytest.mark.usefixtures("a_call")
def test_so_is_a_strategy_that_cannot_be_made_of_one() -> None:
    @check(points=1, rule="r")
    @given(data=st.data())
    def draws(data: st.DataObject) -> None:
        data.draw(st.sampled_from([]))

    ran = search(draws)
    assert isinstance(ran.failure, Unusable)
    assert ran.broken is None


@pytest.mark.usefixtures("a_call")
def test_an_unknown_name_is_the_suites_own_fault_whatever_was_called() -> None:
    @check(points=1, rule="r")
    def misspelt() -> None:
        raise NameError("name 'expct' is not defined")

    ran = search(misspelt)
    assert ran.failure is None
    assert "expct" in str(ran.broken)


def test_a_submission_that_does_not_load_again_for_a_case_fails() -> None:
    def begin() -> None:
        raise LoadFailed("raised", "it is gone", 3, "OSError")

    @check(points=1, rule="r")
    def holds() -> None: ...

    ran = Search(begin, judge)
    ran.run(holds, {})
    assert isinstance(ran.failure, Raised)
    assert ran.broken is None


def test_a_result_too_large_to_look_at_ends_the_search_at_once() -> None:
    cases = []

    @check(points=1, rule="r")
    @given(number=st.integers())
    def large(number: int) -> None:
        cases.append(number)
        raise TooMuch("pool.order()", "it has more than 250,000 values")

    ran = search(large)
    assert isinstance(ran.failure, Unusable)
    assert ran.failure.call == "pool.order()"
    assert len(cases) == 1
