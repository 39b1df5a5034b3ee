"""Objects of the trusted side that a submission uses from where it is."""

import time
from typing import Any

import pytest
from conftest import Load, Write

from grader.worker import (
    CallTimedOut,
    Handle,
    Part,
    ProtocolViolation,
    Record,
    Session,
    SubmissionRaised,
)

MANAGER = """
from dataclasses import dataclass

@dataclass
class Request:
    request_id: str

class Plain:
    x = 5
    def double(self, n): return 2 * n

class Manager:
    def __init__(self, pool): self.pool = pool
    def take(self, n): return self.pool.get_new_blocks(n)
    def free_count(self): return self.pool.num_free
    def reach(self, name): return getattr(self.pool, name)
    def set(self): self.pool.num_free = 3
    def same(self): return self.pool.itself() is self.pool
    def give(self): return self.pool
    def tell(self, request_id): return self.pool.see(Request(request_id))
    def tell_plain(self): return self.pool.see(Plain())
    def keep(self):
        request = Request("k")
        self.pool.keep(request)
        return self.pool.kept() is request
    def catch(self):
        try: self.pool.fail()
        except KeyError as error: return error.args
    def forge(self, number=77):
        import gc
        child = next(o for o in gc.get_objects() if type(o).__name__ == "Child")
        return child._ask(number, "itself", [], {})
    def forbidden(self):
        import gc
        child = next(o for o in gc.get_objects() if type(o).__name__ == "Child")
        return child._ask(0, "secret", [], {})
    def forbidden_attribute(self):
        import gc
        child = next(o for o in gc.get_objects() if type(o).__name__ == "Child")
        return child._ask(0, "get_new_blocks", None, {})
"""


class Broken(Exception):
    pass


class BlockPool:
    def __init__(self) -> None:
        self.num_free = 8
        self.seen: list[Any] = []
        self.part = Part(
            self,
            ("get_new_blocks", "itself", "see", "keep", "kept", "fail", "burst", "wait"),
            ("num_free",),
        )

    def get_new_blocks(self, n: int) -> list[int]:
        if n > self.num_free:
            raise ValueError(f"only {self.num_free} blocks are free")
        self.num_free -= n
        return list(range(n))

    def itself(self) -> Part:
        return self.part

    def secret(self) -> str:
        return "secret"

    def see(self, request: Any) -> Any:
        self.seen.append(request)
        return request.double(4) if isinstance(request, Handle) else request.request_id

    def keep(self, request: Any) -> None:
        self.seen.append(request)

    def kept(self) -> Any:
        return self.seen[-1]

    def fail(self) -> None:
        raise KeyError("missing")

    def burst(self) -> None:
        raise Broken("the suite's own")

    def wait(self) -> None:
        time.sleep(0.5)


@pytest.fixture
def pool() -> BlockPool:
    return BlockPool()


def test_calls_reach_the_part_and_its_results_come_back(load: Load, pool: BlockPool) -> None:
    manager = load(MANAGER).Manager(pool.part)
    assert manager.take(3) == [0, 1, 2]
    assert pool.num_free == manager.free_count() == 5


def test_a_part_is_one_object_on_each_side(load: Load, pool: BlockPool) -> None:
    manager = load(MANAGER).Manager(pool.part)
    assert manager.same() is True
    assert manager.give() is pool


def test_only_what_is_named_can_be_used(load: Load, pool: BlockPool) -> None:
    manager = load(MANAGER).Manager(pool.part)
    for use in (
        lambda: manager.reach("secret"),
        lambda: manager.reach("seen"),
        manager.set,
        manager.forbidden,
        manager.forbidden_attribute,
    ):
        with pytest.raises(SubmissionRaised) as raised:
            use()
        assert raised.value.type_name == "AttributeError"


def test_a_part_that_was_never_handed_in_is_a_violation(load: Load, pool: BlockPool) -> None:
    with pytest.raises(ProtocolViolation, match="never handed in"):
        load(MANAGER).Manager(pool.part).forge()


def test_builtin_exceptions_reach_the_submission(load: Load, pool: BlockPool) -> None:
    manager = load(MANAGER).Manager(pool.part)
    assert manager.catch() == ("missing",)
    with pytest.raises(SubmissionRaised, match="only 8 blocks are free") as raised:
        manager.take(9)
    assert raised.value.type_name == "ValueError"
    assert raised.value.line == 14


def test_other_exceptions_reach_the_suite_even_through_a_bare_except(
    load: Load, session: Session, pool: BlockPool
) -> None:
    lesson = load(
        """
        def f(pool):
            try: pool.burst()
            except BaseException: return "swallowed"
        def g(): return 1
        """
    )
    with pytest.raises(Broken):
        lesson.f(pool.part)
    session.begin_story()
    assert lesson.g() == 1


def test_a_dataclass_reaches_the_part_as_a_record_and_returns_as_itself(
    load: Load, pool: BlockPool
) -> None:
    manager = load(MANAGER).Manager(pool.part)
    assert manager.tell("a") == "a"
    assert pool.seen == [Record("Request", {"request_id": "a"})]
    assert manager.keep() is True


def test_a_part_may_call_the_submission_back(load: Load, pool: BlockPool) -> None:
    assert load(MANAGER).Manager(pool.part).tell_plain() == 8


def test_part_and_submission_that_call_each_other_for_ever_end_in_a_recursion_error(
    load: Load,
) -> None:
    class Mirror:
        def look(self, other: Any) -> Any:
            return other.look()

    lesson = load(
        """
        class Mirror:
            def __init__(self, part): self.part = part
            def look(self): return self.part.look(self)
        """
    )
    with pytest.raises(SubmissionRaised) as raised:
        lesson.Mirror(Part(Mirror(), ("look",))).look()
    assert raised.value.type_name == "RecursionError"


def test_the_time_of_the_trusted_side_does_not_count(
    impatient: Session, write: Write, pool: BlockPool
) -> None:
    lesson = impatient.load(write("def f(pool): return pool.wait()"), "lesson")
    assert lesson.f(pool.part) is None


def test_the_time_of_the_submission_does_count_between_calls_of_a_part(
    impatient: Session, write: Write, pool: BlockPool
) -> None:
    lesson = impatient.load(write("def f(pool):\n  while True: pool.itself()"), "lesson")
    with pytest.raises(CallTimedOut):
        lesson.f(pool.part)


def test_a_part_may_be_a_function_and_its_methods_may_be_special(load: Load) -> None:
    lesson = load("def f(hash_fn, queue): return hash_fn(3), len(queue), list(queue)")
    double = Part(lambda n: 2 * n, ("__call__",))
    queue = Part([1, 2], ("__len__", "__iter__"))
    assert lesson.f(double, queue) == (6, 2, [1, 2])


def test_the_story_tells_what_the_submission_asked_of_a_part(
    load: Load, session: Session, pool: BlockPool
) -> None:
    manager = load(MANAGER).Manager(pool.part)
    manager.take(2)
    told = [(call.depth, call.text, call.outcome) for call in session.calls]
    assert told == [
        (0, "manager = Manager(pool)", ""),
        (0, "manager.take(2)", "[0, 1]"),
        (1, "pool.get_new_blocks(2)", "[0, 1]"),
    ]


def test_without_a_worker_in_between_a_part_does_what_its_proxy_would(pool: BlockPool) -> None:
    assert pool.part.get_new_blocks(1) == [0]
    with pytest.raises(AttributeError, match="has no 'secret'"):
        _ = pool.part.secret
    assert Part(len, ("__call__",))([1]) == 1
