"""A loaded submission, as a suite sees it."""

import pytest
from conftest import Load, Write

from grader.worker import (
    Call,
    Handle,
    LoadFailed,
    Session,
    SubmissionRaised,
    Worker,
)

POOL = '''
SIZE = 3

class BlockPool:
    """
    >>> pool = BlockPool(2)
    """
    KIND = "pool"

    def __init__(self, n):
        self.free = list(range(n))

    def pop(self):
        return self.free.pop()

    @property
    def usage(self):
        return 1 / len(self.free)

    @classmethod
    def empty(cls):
        return cls(0)

def double(n, *, times=2):
    return n * times
'''


def test_classes_functions_and_constants_are_attributes(load: Load) -> None:
    lesson = load(POOL)
    pool = lesson.BlockPool(8)
    assert type(pool) is Handle
    assert (pool.pop(), pool.free[-1], pool.usage) == (7, 6, 1 / 7)
    assert lesson.double(2, times=3) == 6
    assert (lesson.SIZE, lesson.BlockPool.KIND) == (3, "pool")
    assert type(lesson.BlockPool.empty()) is Handle


def test_a_name_that_the_module_lacks_is_told_when_it_is_used(load: Load) -> None:
    with pytest.raises(LoadFailed, match="defines no 'Scheduler'") as failed:
        load(POOL).Scheduler(1)
    assert failed.value.kind == "missing_name"


def test_a_method_that_the_class_lacks_raises_what_python_raises(load: Load) -> None:
    with pytest.raises(SubmissionRaised) as raised:
        load(POOL).BlockPool(8).touch([1])
    assert raised.value.type_name == "AttributeError"


def test_a_suite_can_neither_set_nor_see_what_is_private(load: Load) -> None:
    pool = load(POOL).BlockPool(1)
    with pytest.raises(AttributeError, match="cannot set 'free'"):
        pool.free = []
    with pytest.raises(AttributeError, match="private"):
        _ = pool._free


@pytest.mark.parametrize(
    ("source", "kind", "line", "type_name"),
    [
        (b"x = 1\ndef f(:\n", "syntax", 2, "SyntaxError"),
        (b"\nif True:\nx = 1\n", "syntax", 3, "IndentationError"),
        (b"x = 1\x00\n", "syntax", None, None),
        (b"(" * 10_000, "syntax", None, None),
        (b"# ok\nname = '\xff'\n", "encoding", 2, "UnicodeError"),
        (b"# coding: nonsense\n", "encoding", 1, "SyntaxError"),
        (b"import os\nimport no_such_module\n", "import", 2, "ModuleNotFoundError"),
        (b"import grader.checks\n", "import", 1, "ModuleNotFoundError"),
        (b"import reference.block_pool\n", "import", 1, "ModuleNotFoundError"),
        (b"\n\nraise ValueError('no')\n", "raised", 3, "ValueError"),
        (b"import sys\nsys.exit(0)\n", "raised", 2, "SystemExit"),
    ],
)
def test_a_submission_that_does_not_load_is_told_with_kind_and_line(
    session: Session, write: Write, source: bytes, kind: str, line: int | None, type_name: str
) -> None:
    with pytest.raises(LoadFailed) as failed:
        session.load(write(source), "lesson")
    assert failed.value.kind == kind
    assert line is None or failed.value.line == line
    assert type_name is None or failed.value.type_name == type_name


def test_a_file_that_is_none_is_told(session: Session, write: Write) -> None:
    with pytest.raises(LoadFailed, match="no such file"):
        session.load(write("").with_name("absent.py"), "lesson")
    with pytest.raises(LoadFailed, match="this is not a file"):
        session.load("/dev/zero", "lesson")


def test_the_module_knows_its_name_its_file_and_its_source(load: Load, write: Write) -> None:
    lesson = load(
        """
        import dataclasses, inspect, sys, traceback
        @dataclasses.dataclass
        class D: x: "int" = 1
        def facts():
            return __name__, __file__, sys.modules[__name__].facts is facts, D().x
        def source(): return inspect.getsource(source)
        def trace():
            try: 1 / 0
            except ZeroDivisionError: return traceback.format_exc()
        """
    )
    assert lesson.facts() == ("lesson", str(write("")), True, 1)
    assert lesson.source() == "def source(): return inspect.getsource(source)\n"
    assert "try: 1 / 0" in lesson.trace()


def test_an_exception_tells_type_bases_message_line_and_chain(load: Load) -> None:
    lesson = load(
        """
        import json

        class PoolError(ValueError): pass

        def inner():
            try:
                return {}[3]
            except KeyError as error:
                raise PoolError("no block 3") from error

        def free(n):
            return inner()

        def outside():
            json.loads("{")
        """
    )
    with pytest.raises(SubmissionRaised) as raised:
        lesson.free(3)
    error = raised.value
    assert (error.type_name, error.bases[0], error.message) == (
        "PoolError",
        "ValueError",
        "no block 3",
    )
    assert (error.line, error.call, error.chain) == (10, "free(3)", ("KeyError: 3",))
    assert error.is_a("Exception")
    with pytest.raises(SubmissionRaised) as raised:
        lesson.outside()
    assert raised.value.line == 16


def test_what_is_not_implemented_keeps_its_message(load: Load) -> None:
    lesson = load("def f(): raise NotImplementedError('BlockPool.touch: raise the count')")
    with pytest.raises(SubmissionRaised, match=r"BlockPool\.touch: raise the count"):
        lesson.f()


def test_the_story_words_each_call_as_it_was_made(load: Load, session: Session) -> None:
    lesson = load(POOL)
    lesson.double(1)
    session.begin_story()
    pool, other = lesson.BlockPool(2), lesson.BlockPool(n=1)
    tokens = [1]
    lesson.double(tokens)
    tokens.append(2)
    pool.pop()
    other.pop()
    with pytest.raises(SubmissionRaised):
        other.pop()
    _ = pool.usage
    told = [(call.text, call.outcome) for call in session.calls]
    assert told == [
        ("pool = BlockPool(2)", ""),
        ("pool_2 = BlockPool(n=1)", ""),
        ("double([1])", "[1, 1]"),
        ("pool.pop()", "1"),
        ("pool_2.pop()", "0"),
        ("pool_2.pop()", "raises IndexError: pop from empty list"),
        ("pool.usage", "1.0"),
    ]
    assert session.calls[3] == Call("pool.pop()", 1)


def test_a_value_in_the_story_is_bounded_and_the_same_in_every_run(
    load: Load, session: Session
) -> None:
    lesson = load("def f(x): return None")
    lesson.f({"b", "a"})
    lesson.f(10**100_000)
    lesson.f(list(range(10**5)))
    short, long, endless = (call.text for call in session.calls)
    assert short == "f({'a', 'b'})"
    assert long == "f(<an int of 332193 bits>)"
    assert len(endless) < 320


def test_a_new_story_keeps_the_modules_state_and_a_new_session_does_not(
    worker: Worker, write: Write
) -> None:
    path = write("seen = []\ndef see(): seen.append(1); return len(seen)")
    with worker.session() as session:
        lesson = session.load(path, "lesson")
        assert lesson.see() == 1
        session.begin_story()
        assert lesson.see() == 2
    with worker.session() as session:
        assert session.load(path, "lesson").see() == 1


def test_two_submissions_live_in_one_session(session: Session, write: Write) -> None:
    first = session.load(write("class A:\n  def f(self): return 1"), "first")
    second = session.load(write("def g(a): return a.f()"), "second")
    assert second.g(first.A()) == 1


def test_a_worker_has_one_session_at_a_time(worker: Worker, write: Write) -> None:
    path = write("")
    with worker.session() as one, worker.session() as two:
        one.load(path, "lesson")
        with pytest.raises(RuntimeError, match="one session at a time"):
            two.load(path, "lesson")


def test_every_run_draws_the_same_chances(write: Write) -> None:
    path = write("import random\ndef f(): return random.random(), hash('a'), list({'a', 'b', 'c'})")
    drawn = []
    for _ in range(2):
        with Worker() as fresh, fresh.session() as session:
            drawn.append(session.load(path, "lesson").f())
    assert drawn[0] == drawn[1]


def test_an_example_runs_as_at_the_prompt(load: Load, session: Session) -> None:
    load(POOL)
    run = session.run_example
    assert run("pop", "pool = BlockPool(2)\n").output == ""
    assert run("pop", "pool.pop()\n").output == "1\n"
    assert run("pop", "for n in range(2):\n    print(n)\n").output == "0\n1\n"
    failed = run("pop", "1 / 0\n")
    assert (failed.output, failed.exception) == ("", "ZeroDivisionError: division by zero\n")
    assert "NameError" in str(run("other", "pool\n").exception)
    assert "SyntaxError" in str(run("other", "def\n").exception)


def test_an_examples_endless_output_is_cut(load: Load, session: Session) -> None:
    load(POOL)
    assert len(session.run_example("x", "'x' * 10**8\n").output) == 1 << 16
