"""What is graded, what is not graded again, and what becomes of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
import pytest
from class_kit import (
    HALF,
    LESSON,
    NO_PYTHON,
    POINTS,
    RIGHT,
    SUITE,
    FakeExecutor,
    cell,
    hand_in,
    notebook,
    verdict,
    write_lesson,
)

from grader.classroom.course import Course
from grader.classroom.executor import Executor, Result, Task, failed
from grader.classroom.grading import Graded, grade_class
from grader.classroom.journal import open_journal
from grader.classroom.local import LocalExecutor
from grader.classroom.submissions import collect
from grader.stub import stub_of
from grader.verdict import LoadError


def graded(course: Course, executor: Executor, regrade: bool = False) -> list[Graded]:
    collected = collect(course.submitted, course.lessons)
    with open_journal(course.journal) as journal:
        return list(
            grade_class(course, collected, executor, journal, sandbox="none", regrade=regrade)
        )


def tasks_in(course: Course, found: int = 5, regrade: bool = False) -> int:
    executor = FakeExecutor(verdict(found))
    graded(course, executor, regrade)
    return len(executor.tasks)


def test_each_gets_the_verdict_it_deserves(course: Course) -> None:
    for number, source in enumerate(POINTS):
        hand_in(course, f"s{number}", source)
    hand_in(course, "book", notebook(cell(HALF, "counter", solution=True)), ".ipynb")
    hand_in(course, "stub", stub_of(course.files_of(LESSON)))
    hand_in(course, "broken", "{", ".ipynb")
    with LocalExecutor() as executor:
        found = {each.entry.student: each.entry.verdict for each in graded(course, executor)}
    points = {student: each.points for student, each in found.items()}
    expected = {f"s{number}": each for number, each in enumerate(POINTS.values())}
    assert points == expected | {"book": 2, "stub": 0, "broken": 0}
    assert found["stub"].status == "not_started"
    assert {each.max_points for each in found.values()} == {10}
    for student, file in (("s4", "counter.py"), ("broken", "counter.ipynb")):
        error = found[student].error
        assert isinstance(error, LoadError)
        assert error.file == f"{student}/toy/{file}"


def test_what_has_not_changed_is_not_graded_again(course: Course) -> None:
    hand_in(course, "ada", RIGHT)
    hand_in(course, "bob", HALF)
    assert tasks_in(course) == 2
    assert tasks_in(course) == 0
    hand_in(course, "bob", RIGHT + "# again\n")
    assert tasks_in(course) == 1


def test_regrade_grades_all_of_it(course: Course) -> None:
    hand_in(course, "ada", RIGHT)
    hand_in(course, "bob", HALF)
    assert tasks_in(course) == 2
    assert tasks_in(course, 7, regrade=True) == 2
    assert [each.entry.verdict.points for each in graded(course, FakeExecutor(verdict(0)))] == [
        7,
        7,
    ]


@pytest.mark.parametrize("part", ["suite", "solution"])
def test_a_changed_suite_or_solution_regrades(course: Course, part: str) -> None:
    hand_in(course, "ada", RIGHT)
    assert tasks_in(course) == 1
    lesson = write_lesson(course.root, SUITE + "\n# stricter\n")
    if part == "solution":
        write_lesson(course.root)
        lesson.solution.write_text(lesson.solution.read_text() + "\n# clearer\n")
    assert tasks_in(course) == 1


def test_equal_submissions_are_graded_once(course: Course) -> None:
    for student in ("ada", "bob", "eve"):
        hand_in(course, student, RIGHT)
    executor = FakeExecutor(verdict(5))
    found = graded(course, executor)
    assert len(executor.tasks) == 1
    assert [each.entry.student for each in found] == ["ada", "bob", "eve"]


def test_what_the_grader_failed_at_is_tried_again(course: Course) -> None:
    hand_in(course, "ada", RIGHT)
    (first,) = graded(course, FakeExecutor(verdict(0, "grader_error")))
    assert first.entry.verdict.status == "grader_error"
    (second,) = graded(course, FakeExecutor(verdict(5)))
    assert (second.entry.verdict.points, second.is_new) == (5, True)


def test_what_the_grader_failed_at_is_tried_twice_in_one_run(course: Course) -> None:
    hand_in(course, "ada", RIGHT)
    hand_in(course, "bob", HALF)
    executor = FakeExecutor(verdict(5))
    run = executor.run

    def run_with_trouble(tasks: Iterable[Task]) -> Iterator[Result]:
        for result in run(tasks):
            is_first = len(executor.tasks) == 1
            yield failed(executor.tasks[0], "too busy") if is_first else result

    executor.run = run_with_trouble  # type: ignore[method-assign]  # in its place
    found = graded(course, executor)
    assert len(executor.tasks) == 3
    assert {each.entry.student: each.entry.verdict.points for each in found} == {"ada": 5, "bob": 5}


def test_a_task_says_nothing_of_the_student(course: Course) -> None:
    hand_in(course, "ada", RIGHT)
    executor = FakeExecutor(verdict(5))
    graded(course, executor)
    assert b"ada" not in msgspec.json.encode(executor.tasks[0])


def test_a_verdict_is_in_the_journal_before_it_is_told(course: Course) -> None:
    for student in ("ada", "bob"):
        hand_in(course, student, f"# {student}\n{RIGHT}")
    collected = collect(course.submitted, course.lessons)
    with open_journal(course.journal) as journal:
        for each in grade_class(course, collected, FakeExecutor(verdict(5)), journal, "none"):
            assert each.entry.student in course.journal.read_text().splitlines()[-1]


def test_how_far_it_is_is_told(course: Course) -> None:
    for student in ("ada", "bob", "eve"):
        hand_in(course, student, RIGHT)
    told: list[tuple[int, int]] = []
    collected = collect(course.submitted, course.lessons)
    with open_journal(course.journal) as journal:
        executor = FakeExecutor(verdict(5))
        for _ in grade_class(
            course, collected, executor, journal, tell=lambda done, of: told.append((done, of))
        ):
            pass
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_a_submission_that_is_no_python_says_where(course: Course) -> None:
    hand_in(course, "ada", NO_PYTHON)
    with LocalExecutor(1) as executor:
        (found,) = graded(course, executor)
    error = found.entry.verdict.error
    assert isinstance(error, LoadError)
    assert (error.kind, error.file, error.line) == ("syntax", "ada/toy/counter.py", 1)
    assert "/tmp" not in msgspec.json.encode(found.entry).decode()
