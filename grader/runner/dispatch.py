"""Giving tasks to forked processes, one by one, and gathering what comes of them."""

import gc
import selectors
import time
from collections.abc import Callable, Sequence

import msgspec

from grader.runner.process import LOOK_EVERY, Channel, Child, Closed, Silent, fork, interruptible
from grader.runner.tasks import Checking, Done, Loading, Order, Task, blocked
from grader.verdict import LoadError

DEADLINE = 5.0
# Once a call has not come back, one like it is not waited for as long again: the same loop is met
# by most of the checks. Any other call gets less time, too; an honest one takes a thousandth of it.
DEADLINE_AGAIN = 0.25
DEADLINE_OF_OTHERS = 2.0
# Seconds for one task, far above what the deadlines in it and a worker's start let it take.
LONGEST_TASK = 240.0


class SeatFailed(Exception):
    """The grader itself failed at a task, or its process ended; ``detail`` is for its authors."""

    def __init__(self, task: str, detail: str) -> None:
        super().__init__(f"the grader failed at {task}")
        self.task, self.detail = task, detail


class NotLoaded(Exception):
    """The submission does not load; there is nothing more to be done with it."""

    def __init__(self, error: LoadError, printed: str) -> None:
        super().__init__(error.cause)
        self.error, self.printed = error, printed


class Dispatch:
    """The tasks of one grading: which are done, which is to be done next."""

    def __init__(self, tasks: list[Task], tell: Callable[[int, int], None]) -> None:
        self._tasks = tasks
        self._tell = tell
        self._waiting = _in_order(tasks)
        self._done: dict[int, Done] = {}
        self._passed: dict[str, bool] = {}

    def run(self, serves: Sequence[Callable[[Channel], None]]) -> list[Done]:
        """Fork a process for each of ``serves`` and have all tasks done.

        Raises:
            NotLoaded: the submission does not load.
            SeatFailed: one of these processes failed, which no submission can make it do.
        """
        # What is there now stays: no seat needs to look through it for garbage, or to copy it.
        gc.freeze()
        seats = [fork(serve) for serve in serves]
        try:
            self._run(seats)
        except BaseException:
            for seat in seats:
                seat.kill()
            raise
        for seat in seats:
            seat.end()
        return [self._done[number] for number in range(len(self._tasks))]

    def _run(self, seats: list[Child]) -> None:
        busy: dict[Child, int] = {}
        since: dict[Child, float] = {}
        with selectors.DefaultSelector() as selector:
            for seat in seats:
                selector.register(seat.channel, selectors.EVENT_READ, seat)
            while True:
                for seat in seats:
                    number = None if seat in busy else self._next()
                    if number is not None:
                        order = self._order(number)
                        seat.channel.send(msgspec.msgpack.encode(order))
                        busy[seat], since[seat] = number, time.monotonic()
                if not busy:
                    return
                with interruptible():
                    ready = selector.select(LOOK_EVERY)
                if not ready:
                    self._look_after(busy, since)
                for key, _ in ready:
                    number = busy.pop(key.data, None)
                    task = "no task" if number is None else self._tasks[number].name
                    self._finish(received(key.data, task))

    def _look_after(self, busy: dict[Child, int], since: dict[Child, float]) -> None:
        """Wake a seat that the submission has stopped; a task must not take for ever."""
        for seat, number in busy.items():
            seat.wake()
            if time.monotonic() - since[seat] > LONGEST_TASK:
                raise SeatFailed(self._tasks[number].name, _late(LONGEST_TASK))

    def _next(self) -> int | None:
        """The task to do next; those of which a need has failed already are done without."""
        for number in list(self._waiting):
            if failed := [need for need in self._needs(number) if self._passed.get(need) is False]:
                self._waiting.remove(number)
                task = self._tasks[number]
                assert isinstance(task, Checking)
                self._finish(Done(number, check=blocked(task, failed)))
        ready = (n for n in self._waiting if all(need in self._passed for need in self._needs(n)))
        # Where all others wait for a check that is running, the time is put to use all the same.
        chosen = next(ready, next(iter(self._waiting), None))
        if chosen is not None:
            self._waiting.remove(chosen)
        return chosen

    def _needs(self, number: int) -> tuple[str, ...]:
        task = self._tasks[number]
        return task.needs if isinstance(task, Checking) else ()

    def _finish(self, done: Done) -> None:
        self._done[done.number] = done
        if done.check:
            self._passed[done.check.name] = done.passed
        self._tell(len(self._done), len(self._tasks))

    def _order(self, number: int) -> Order:
        never_back = {name for done in self._done.values() for name in done.never_back}
        if not never_back:
            return Order(number, DEADLINE)
        return Order(number, DEADLINE_OF_OTHERS, dict.fromkeys(never_back, DEADLINE_AGAIN))


def received(seat: Child, task: str, seconds: float = LONGEST_TASK) -> Done:
    """What a seat has done, within so many seconds.

    Raises:
        NotLoaded: the submission does not load.
        SeatFailed: the seat failed, its process ended, or said nothing.
    """
    try:
        done = msgspec.msgpack.decode(seat.receive(seconds), type=Done)
    except Closed:
        raise SeatFailed(task, "its process ended") from None
    except Silent as silent:
        raise SeatFailed(task, _late(silent.seconds)) from None
    if done.broken:
        raise SeatFailed(task, done.broken)
    if done.load_error:
        raise NotLoaded(done.load_error, done.printed)
    return done


def _late(seconds: float) -> str:
    return f"its process did not come to an end within {seconds:g} s"


def _in_order(tasks: list[Task]) -> list[int]:
    """The numbers of the tasks in the order that they are best begun in.

    First the loading and the checks that others need; then the last ones of the suite, which are
    its longest, so that none is left to be waited for at the end.
    """
    needed = {need for task in tasks if isinstance(task, Checking) for need in task.needs}
    first = [
        number
        for number, task in enumerate(tasks)
        if isinstance(task, Loading) or task.name in needed
    ]
    return first + [number for number in reversed(range(len(tasks))) if number not in first]
