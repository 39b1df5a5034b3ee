"""A small lesson, and classes that hand it in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from grader.classroom.course import Configuration, Course
from grader.classroom.executor import Result, Task
from grader.classroom.journal import Entry
from grader.lessons import Lesson
from grader.verdict import CheckResult, Mismatched, Verdict

SOLUTION = '''"""A counter."""


class Counter:
    """Counts.

    >>> Counter().next()
    1
    """

    def __init__(self):
        self.count = 0

    def next(self):
        """The next number."""
        ### BEGIN SOLUTION one more
        self.count += 1
        return self.count
        ### END SOLUTION


def double(number):
    """Twice the number."""
    ### BEGIN SOLUTION twice
    return 2 * number
    ### END SOLUTION
'''

SUITE = '''from grader.checks import check, expect


@check(points=2, rule="How it really works")
def test_counts(lesson):
    """It counts from one."""
    counter = lesson.Counter()
    expect([counter.next(), counter.next()], [1, 2])


@check(points=5, rule="How it really works")
def test_doubles(lesson):
    """It doubles."""
    expect(lesson.double(3), 6)


@check(points=3, rule="How it really works", needs=("test_doubles",))
def test_doubles_what_is_negative(lesson):
    """It doubles what is negative."""
    expect(lesson.double(-3), -6)
'''
RIGHT = SOLUTION
HALF = SOLUTION.replace("return 2 * number", "return number + 3 - 1")
SLOW = SOLUTION.replace("return 2 * number", "import time; time.sleep(0.05); return 2 * number")
ENDS = SOLUTION.replace("return 2 * number", "import os; os._exit(0)")
NO_PYTHON = "def double(number:\n"
POINTS = {RIGHT: 10, HALF: 2, SLOW: 10, ENDS: 2, NO_PYTHON: 0}
LESSON = "toy/counter"


def write_lesson(root: Path, suite: str = SUITE) -> Lesson:
    """Write the lesson's files under a folder."""
    lesson = Lesson(LESSON, root)
    for path, content in ((lesson.solution, SOLUTION), (lesson.suite, suite)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return lesson


def make_course(folder: Path, **configuration: Any) -> Course:
    """A course of the one lesson, without submissions."""
    root = folder / "lessons"
    write_lesson(root)
    (folder / "course" / "submitted").mkdir(parents=True)
    return Course(folder / "course", (LESSON,), Configuration(**configuration), root)


def hand_in(course: Course, student: str, content: str | bytes, suffix: str = ".py") -> Path:
    """Put a submission where it belongs."""
    path = course.submitted / student / f"{LESSON}{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def notebook(*cells: dict[str, Any]) -> str:
    """A notebook's JSON."""
    return json.dumps({"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def cell(source: str, name: str = "", **nbgrader: bool) -> dict[str, Any]:
    """A code cell; with a name or marks, one of nbgrader's."""
    metadata = {"nbgrader": {"grade_id": name, **nbgrader}} if name or nbgrader else {}
    return {"cell_type": "code", "source": source, "metadata": metadata, "outputs": []}


def verdict(points: int, status: str = "failed", lesson: str = LESSON) -> Verdict:
    """A verdict with one failed and one passed check, made up."""
    story = Mismatched(expected="6", actual="5")
    checks = [
        CheckResult("test_counts", "It counts.", 2, min(points, 2), "passed", "Rule"),
        CheckResult("test_doubles", "It doubles <b>.", 8, 0, "failed", "Rule", story),
    ]
    data: Any = {"lesson": lesson, "status": status, "points": points, "max_points": 10}
    return msgspec.structs.replace(msgspec.convert(data, Verdict), checks=checks)


def entry(student: str, found: Verdict, key: str = "key", sandbox: str = "bubblewrap") -> Entry:
    path = f"{student}/{found.lesson}.py"
    made: Any = (student, found.lesson, path, key, "digest", sandbox, found)
    return Entry(*made)


@dataclass
class FakeExecutor:
    """Gives one verdict to all, and notes who asked for it."""

    found: Verdict

    def __post_init__(self) -> None:
        self.tasks: list[Task] = []

    def run(self, tasks: Iterable[Task]) -> Iterator[Result]:
        for task in tasks:
            self.tasks.append(task)
            yield Result(task.key, self.found)

    def close(self) -> None: ...

    def __enter__(self) -> FakeExecutor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
