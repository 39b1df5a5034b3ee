"""A submission's verdict, from the untouched stub to the solution."""

import ctypes
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader import stub
from grader.lessons import Lesson
from grader.runner import WarmGrader, grade
from grader.verdict import (
    CheckResult,
    Died,
    Differed,
    ExampleDiffered,
    GraderError,
    LoadError,
    Mismatched,
    NotImplementedYet,
    TimedOut,
    Unusable,
    Verdict,
    WrongError,
)


@pytest.fixture(scope="module")
def lesson(toy: Any, tmp_path_factory: pytest.TempPathFactory) -> Lesson:
    written: Lesson = toy.write(tmp_path_factory.mktemp("course"))
    return written


@pytest.fixture(scope="module")
def grader(lesson: Lesson) -> Iterator[WarmGrader]:
    with WarmGrader(lesson) as warm:
        yield warm


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from grader.places import places

    monkeypatch.setenv("VLLMLINGS_HOME", str(tmp_path))
    places.cache_clear()


def check(verdict: Verdict, name: str) -> CheckResult:
    return next(result for result in verdict.checks if result.name == name)


def outcomes(verdict: Verdict) -> dict[str, str]:
    return {result.name: result.outcome for result in verdict.checks}


def test_the_solution_passes_with_all_points(lesson: Lesson) -> None:
    verdict = grade(lesson, lesson.solution)
    assert (verdict.status, verdict.points, verdict.max_points) == ("passed", 20, 20)
    assert [(e.name, e.outcome) for e in verdict.examples] == [
        ("Stack", "passed"),
        ("Stack.pop", "passed"),
    ]
    assert check(verdict, "test_pushes_on_top").title == "Push puts ids on top."


def test_the_untouched_stub_is_not_started_and_nothing_is_run(
    toy: Any, lesson: Lesson, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.runner.warm.fork", None)
    submission = toy.submit(tmp_path, text=stub.stub_of(lesson))
    verdict = grade(lesson, submission)
    assert (verdict.status, verdict.points, verdict.max_points) == ("not_started", 0, 20)


def test_a_failing_check_tells_the_smallest_case_as_a_story(
    toy: Any, grader: WarmGrader, tmp_path: Path
) -> None:
    verdict = grader.grade(toy.submit(tmp_path, ("self.ids.pop()", "self.ids.pop(0)")))
    assert verdict.status == "failed"
    failure = check(verdict, "test_pops_the_last_first").failure
    assert isinstance(failure, Mismatched)
    assert (failure.expected, failure.actual) == ("1", "0")
    assert failure.story.setting == ["A stack of 2."]
    assert [(call.text, call.result, call.failing) for call in failure.story.calls] == [
        ("stack = Stack([0, 1])", "", False),
        ("stack.pop()", "0", True),
    ]


def test_a_check_whose_need_failed_is_blocked(toy: Any, grader: WarmGrader, tmp_path: Path) -> None:
    verdict = grader.grade(toy.submit(tmp_path, ("extend(ids)", "extend(reversed(ids))")))
    assert outcomes(verdict) == {
        "test_pops_the_last_first": "passed",
        "test_an_empty_stack_raises": "passed",
        "test_pushes_on_top": "failed",
        "test_any_order_of_calls": "blocked",
    }
    assert check(verdict, "test_any_order_of_calls").blocked_by == ["test_pushes_on_top"]
    assert verdict.points == 5


def test_a_comparison_tells_what_the_engine_does(
    toy: Any, grader: WarmGrader, tmp_path: Path
) -> None:
    changes = ("if not self.ids:", "if self.ids == []:\n            return None\n        if 0:")
    verdict = grader.grade(toy.submit(tmp_path, changes))
    failure = check(verdict, "test_any_order_of_calls").failure
    assert isinstance(failure, Differed)
    assert (failure.call, failure.expected_error, failure.actual) == ("pop()", "ValueError", "None")
    wrong = check(verdict, "test_an_empty_stack_raises").failure
    assert isinstance(wrong, WrongError)
    assert (wrong.expected, wrong.raised, wrong.value) == ("ValueError", None, "None")


def test_an_example_of_the_stub_fails_whatever_the_docstring_says_now(
    toy: Any, grader: WarmGrader, tmp_path: Path
) -> None:
    changes = (
        ("return self.ids.pop()", "print('popped')\n        return self.ids.pop()"),
        ("    >>> stack.pop()\n    3\n", "    >>> stack.pop()\n    popped\n    3\n"),
    )
    verdict = grader.grade(toy.submit(tmp_path, *changes))
    assert verdict.status == "failed"
    assert verdict.points == verdict.max_points
    failure = verdict.examples[0].failure
    assert isinstance(failure, ExampleDiffered)
    assert (failure.expected, failure.actual) == ("3", "popped\n3")
    assert failure.source == "stack.pop()"
    assert failure.line == 8


def test_a_part_that_is_not_written_yet_is_named(
    toy: Any, lesson: Lesson, grader: WarmGrader, tmp_path: Path
) -> None:
    text = stub.stub_of(lesson).replace(
        'raise NotImplementedError("Stack.pop: take the last, if there is one")',
        "return self.ids.pop()",
    )
    verdict = grader.grade(toy.submit(tmp_path, text=text))
    failure = check(verdict, "test_pushes_on_top").failure
    assert isinstance(failure, NotImplementedYet)
    assert (failure.name, failure.hint) == ("Stack.push", "add them at the end")
    assert outcomes(verdict)["test_pops_the_last_first"] == "passed"


@pytest.mark.parametrize(
    ("old", "new", "kind", "line"),
    [
        ("class Stack:", "class Stack", "syntax", 4),
        ("class Stack:", "import no_such_module\n\n\nclass Stack:", "import", 4),
        ("class Stack:", "class Pile:", "missing_name", None),
        ("class Stack:", "1 / 0\n\n\nclass Stack:", "raised", 4),
        ("class Stack:", "import os\n\nos._exit(0)\n\n\nclass Stack:", "died", None),
    ],
)
def test_what_cannot_be_loaded_says_where_why_and_what_to_do(
    toy: Any, grader: WarmGrader, tmp_path: Path, old: str, new: str, kind: str, line: int | None
) -> None:
    verdict = grader.grade(toy.submit(tmp_path, (old, new)))
    assert verdict.status == "cannot_load"
    assert isinstance(verdict.error, LoadError)
    assert (verdict.error.kind, verdict.error.line) == (kind, line)
    assert verdict.error.cause
    assert verdict.error.fix
    assert verdict.max_points == 20


def test_a_syntax_error_comes_with_the_line_and_the_column(
    toy: Any, grader: WarmGrader, tmp_path: Path
) -> None:
    error = grader.grade(toy.submit(tmp_path, ("return self.ids.pop()", "return self.ids.(")))
    assert isinstance(error.error, LoadError)
    assert error.error.source == "        return self.ids.("
    assert error.error.column == len("        return self.ids.(")


def test_a_file_that_is_missing_cannot_be_loaded(lesson: Lesson, tmp_path: Path) -> None:
    verdict = grade(lesson, tmp_path / "none.py")
    assert isinstance(verdict.error, LoadError)
    assert verdict.error.kind == "missing_file"


def test_a_submission_that_never_ends_is_told_soon(
    toy: Any, lesson: Lesson, tmp_path: Path
) -> None:
    started = time.monotonic()
    verdict = grade(lesson, toy.submit(tmp_path, ("self.ids = list(ids)", "while True: pass")))
    # One call is waited for to the end of its deadline, those like it are not.
    assert time.monotonic() - started < 10
    failure = check(verdict, "test_pops_the_last_first").failure
    assert isinstance(failure, TimedOut)
    assert failure.call == "Stack([])"
    assert verdict.points == 0


def test_a_submission_that_ends_its_process_only_fails(
    toy: Any, grader: WarmGrader, tmp_path: Path
) -> None:
    verdict = grader.grade(
        toy.submit(tmp_path, ("self.ids.extend(ids)", "__import__('os')._exit(0)"))
    )
    failure = check(verdict, "test_pushes_on_top").failure
    assert isinstance(failure, Died)
    assert failure.exit_code == 0
    assert outcomes(verdict)["test_pops_the_last_first"] == "passed"


def test_what_is_printed_is_kept(toy: Any, grader: WarmGrader, tmp_path: Path) -> None:
    verdict = grader.grade(
        toy.submit(
            tmp_path,
            ("        self.ids.extend", "        print('on top')\n        self.ids.extend"),
        )
    )
    assert verdict.status == "passed"
    assert "on top" in verdict.printed


def test_the_same_submission_always_gets_the_same_verdict(
    toy: Any, lesson: Lesson, grader: WarmGrader, tmp_path: Path
) -> None:
    def timeless(verdict: Verdict) -> list[object]:
        checks = [(c.name, c.outcome, c.failure, c.earned) for c in verdict.checks]
        return [verdict.status, verdict.examples, checks, verdict.error]

    submission = toy.submit(tmp_path, ("extend(ids)", "extend(ids[:3])"))
    expected = timeless(grader.grade(submission))
    assert timeless(grader.grade(submission)) == expected
    assert timeless(grade(lesson, submission, fresh=True, jobs=1)) == expected


def test_a_verdict_is_kept_until_the_submission_changes(
    toy: Any, lesson: Lesson, tmp_path: Path
) -> None:
    submission = toy.submit(tmp_path, ("extend(ids)", "extend(ids[:3])"))
    first = grade(lesson, submission)
    assert grade(lesson, submission) == first
    assert grade(lesson, submission, fresh=True).seconds != first.seconds
    assert grade(lesson, toy.submit(tmp_path)).status == "passed"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("def pop(self):\n        if", "def pop(self):\n        itemz\n        if", "itemz"),
        ("from hypothesis", "import no_such_module\nfrom hypothesis", "no_such_module"),
        ("@check(points=3", "# @check(points=3", "no @check above test_an_empty_stack_raises"),
        ('test_pushes_on_top",)', 'test_x",)', "test_any_order_of_calls needs test_x"),
        ("stack = lesson.Stack([])\n", "import os; os._exit(3)\n", "test_an_empty_stack_raises"),
    ],
)
def test_a_fault_of_the_suite_is_never_the_learners(
    toy: Any, tmp_path: Path, old: str, new: str, told: str
) -> None:
    assert old in toy.suite
    lesson = toy.write(tmp_path, suite=toy.suite.replace(old, new))
    verdict = grade(lesson, lesson.solution)
    assert verdict.status == "grader_error"
    assert isinstance(verdict.error, GraderError)
    assert told in verdict.error.cause + verdict.error.detail


@pytest.mark.skipif(sys.platform != "linux", reason="reads the children from /proc")
def test_no_process_is_left_behind(lesson: Lesson) -> None:
    def children() -> str:
        return Path(f"/proc/self/task/{os.getpid()}/children").read_text()

    # Whoever loses its parent from now on becomes this process's child, and is seen.
    set_child_subreaper = 36
    ctypes.CDLL(None).prctl(set_child_subreaper, 1)
    before = children()
    grade(lesson, lesson.solution, fresh=True)
    assert children() == before


@pytest.mark.parametrize(
    "code",
    [
        "Stack.pop = 3",
        "Stack.pop = property(lambda self: None)",
        "Stack.__new__ = lambda cls, ids: 5",
        "Stack.__new__ = lambda cls, ids: None",
        "Stack.push = lambda self, ids: iter(ids)\nStack.pop = lambda self: [10**5000]",
        "Stack.pop = lambda self: (item for item in ())",
        "Stack.pop = lambda self: [itself := [], itself.append(itself)][0]",
        "async def pop(self): ...\nStack.pop = pop",
        "Stack.pop = lambda self: b'x' * (40 << 20)",
        "Stack.pop = lambda self: list(range(3_900_000))",
    ],
)
def test_a_result_of_any_kind_is_the_submissions_failure(
    toy: Any, grader: WarmGrader, tmp_path: Path, code: str
) -> None:
    submission = toy.submit(tmp_path, text=f"{toy.solution}\n\n{code}\n")
    verdict = grader.grade(submission)
    assert verdict.status == "failed"
    assert verdict.seconds < 20


def test_a_call_that_returned_nothing_is_told_with_what_belongs_there(
    toy: Any, tmp_path: Path
) -> None:
    lesson = toy.write(
        tmp_path,
        suite=toy.suite.replace(
            "expect(stack.pop(), expected,", "expect(stack.pop() + 0, expected,"
        ),
    )
    solution = toy.solution.replace("def pop(self):", "def pop(self) -> int:")
    lesson.solution.write_text(solution)
    submission = toy.submit(tmp_path, ("return self.ids.pop()", "self.ids.pop()"), text=solution)
    failure = check(grade(lesson, submission), "test_pops_the_last_first").failure
    assert isinstance(failure, Unusable)
    assert (failure.call, failure.value, failure.belongs) == ("stack.pop()", "None", "an int")
    assert [call.text for call in failure.story.calls if call.failing] == ["stack.pop()"]


@pytest.mark.parametrize("value", ["None", "3", "object()"])
def test_a_class_that_is_something_else_cannot_be_loaded(
    toy: Any, grader: WarmGrader, tmp_path: Path, value: str
) -> None:
    verdict = grader.grade(toy.submit(tmp_path, text=f"{toy.solution}\n\nStack = {value}\n"))
    assert isinstance(verdict.error, LoadError)
    assert verdict.error.kind == "wrong_kind"
    assert "where a class belongs" in verdict.error.cause


def test_a_module_that_takes_long_to_load_is_told_so_at_once(
    toy: Any, grader: WarmGrader, tmp_path: Path
) -> None:
    slow = f"import time\ntime.sleep(3)\n{toy.solution}"
    verdict = grader.grade(toy.submit(tmp_path, text=slow))
    assert isinstance(verdict.error, LoadError)
    assert verdict.error.kind == "timed_out"
    assert "within 2 s" in verdict.error.cause
    assert verdict.seconds < 10


def test_of_an_example_that_prints_much_the_beginning_is_told(
    toy: Any, grader: WarmGrader, tmp_path: Path
) -> None:
    loud = ("def pop(self):", "def pop(self):\n        print('line\\n' * 2000)")
    verdict = grader.grade(toy.submit(tmp_path, loud))
    failure = verdict.examples[0].failure
    assert isinstance(failure, ExampleDiffered)
    assert failure.actual.splitlines()[-1] == "… 1990 more lines"


def test_an_example_that_never_ends_tells_the_lines_that_led_to_it(
    toy: Any, grader: WarmGrader, tmp_path: Path
) -> None:
    endless = ("def pop(self):", "def pop(self):\n        while True: pass")
    failure = grader.grade(toy.submit(tmp_path, endless)).examples[0].failure
    assert isinstance(failure, TimedOut)
    assert [call.text for call in failure.story.calls] == [
        "stack = Stack([1, 2, 3])",
        "stack.pop()",
    ]
    assert [call.failing for call in failure.story.calls] == [False, True]


def test_a_submission_that_loads_only_now_and_then_fails(
    toy: Any, grader: WarmGrader, tmp_path: Path
) -> None:
    mark = tmp_path / "loaded"
    code = f"import os\nif os.path.exists({str(mark)!r}): raise OSError\n"
    once = f"{code}open({str(mark)!r}, 'w').close()\n{toy.solution}"
    verdict = grader.grade(toy.submit(tmp_path, text=once))
    assert verdict.status in ("failed", "cannot_load")
