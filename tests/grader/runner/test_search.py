"""How the smallest failing case of a check is found."""

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from grader import checks, drawing
from grader.checks import check, expect, new_story, story
from grader.runner.search import CASES_AFTER_FAILURE, Search
from grader.verdict import Mismatched, NotImplementedYet, Story, TimedOut
from grader.worker.errors import CallTimedOut, SubmissionRaised


def search(test: Callable[..., None], **arguments: Any) -> Search:
    drawing.load()
    ran = Search(checks.begin_story, lambda: Story(checks.setting()))
    ran.run(test, arguments)
    return ran


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

    ran = Search(begin, lambda: Story(checks.setting()))
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
