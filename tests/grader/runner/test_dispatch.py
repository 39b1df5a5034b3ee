"""Which task is done when, and what stops a grading."""

from collections.abc import Callable

import msgspec
import pytest

from grader.lessons import Lesson
from grader.runner.dispatch import (
    DEADLINE,
    DEADLINE_AGAIN,
    DEADLINE_OF_OTHERS,
    Dispatch,
    NotLoaded,
    SeatFailed,
)
from grader.runner.process import Channel
from grader.runner.tasks import Checking, Done, Loading, Order, Task
from grader.verdict import CheckResult, LoadError, Outcome, TimedOut


class Check(Checking):
    """A check that needs no suite."""

    def __init__(self, name: str, needs: tuple[str, ...] = ()) -> None:
        self.__dict__.update(item=None, collection=self, _name=name, _needs=needs)

    @property
    def name(self) -> str:
        return str(self.__dict__["_name"])

    @property
    def needs(self) -> tuple[str, ...]:
        needs: tuple[str, ...] = self.__dict__["_needs"]
        return needs


def result(name: str, outcome: Outcome = "passed", deadline: float = 0.0) -> CheckResult:
    return CheckResult(name, name, 1, 0, outcome, "rule", seconds=deadline)


def seat(do: Callable[[Order], Done]) -> Callable[[Channel], None]:
    def serve(channel: Channel) -> None:
        while True:
            order = msgspec.msgpack.decode(channel.receive(), type=Order)
            channel.send(msgspec.msgpack.encode(do(order)))

    return serve


def order_of(tasks: list[Task]) -> list[str]:
    """The names in the order in which a single seat does the tasks."""
    dispatch = Dispatch(tasks, lambda _done, _total: None)
    order: list[str] = []
    while (number := dispatch._next()) is not None:
        order.append(tasks[number].name)
        dispatch._finish(Done(number, check=result(tasks[number].name)))
    return order


def test_loading_comes_first_then_what_others_need_then_the_last_of_the_suite() -> None:
    loading = Loading(Lesson("toy/stack"), "")
    tasks: list[Task] = [loading, Check("a"), Check("b"), Check("c", ("b",)), Check("d")]
    assert order_of(tasks) == ["loading the submission", "b", "d", "c", "a"]


def test_nothing_waits_while_a_seat_is_free() -> None:
    tasks: list[Task] = [Check("a"), Check("b", ("a",))]
    dispatch = Dispatch(tasks, lambda _done, _total: None)
    assert (dispatch._next(), dispatch._next(), dispatch._next()) == (0, 1, None)


def test_a_loading_that_failed_ends_it_all() -> None:
    error = LoadError("syntax", "a.py", 3, "never closed", "close it")
    tasks: list[Task] = [Check("a"), Check("b")]
    serve = seat(lambda order: Done(order.number, load_error=error, printed="hello"))
    with pytest.raises(NotLoaded) as caught:
        Dispatch(tasks, lambda _done, _total: None).run([serve])
    assert (caught.value.error, caught.value.printed) == (error, "hello")


def test_a_seat_that_dies_or_breaks_is_the_graders_own_failure() -> None:
    def die(_: Order) -> Done:
        raise SystemExit

    tasks: list[Task] = [Check("a")]
    with pytest.raises(SeatFailed, match="the grader failed at a"):
        Dispatch(tasks, lambda _done, _total: None).run([seat(die)])
    broken = seat(lambda order: Done(order.number, broken="Traceback"))
    with pytest.raises(SeatFailed) as caught:
        Dispatch(tasks, lambda _done, _total: None).run([broken])
    assert caught.value.detail == "Traceback"


def test_a_call_that_never_came_back_is_not_waited_for_as_long_again() -> None:
    def never_ends(order: Order) -> Done:
        failed = result(tasks[order.number].name, "failed", order.deadline)
        failure = TimedOut(call="x = pool.f(1)", seconds=order.deadlines.get("f", order.deadline))
        return Done(order.number, check=msgspec.structs.replace(failed, failure=failure))

    tasks: list[Task] = [Check(name) for name in "abcd"]
    told: list[tuple[int, int]] = []
    done = Dispatch(tasks, lambda *progress: told.append(progress)).run([seat(never_ends)])
    late = [one.check.failure for one in done if one.check]
    waited = sorted((one.seconds for one in late if isinstance(one, TimedOut)), reverse=True)
    assert waited == [DEADLINE] + [DEADLINE_AGAIN] * (len(tasks) - 1)
    others = sorted((one.check.seconds for one in done if one.check), reverse=True)
    assert others == [DEADLINE] + [DEADLINE_OF_OTHERS] * (len(tasks) - 1)
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
