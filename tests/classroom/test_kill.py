"""`kill -9` at any moment loses at most what was running."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from class_kit import LESSON, POINTS, hand_in, make_course
from test_local import mark, wait_until_gone

from grader.classroom.course import Course
from grader.classroom.journal import read_journal
from grader.classroom.submissions import collect

__all__ = ["mark"]
KILLS = 6


def start(folder: Path) -> subprocess.Popen[str]:
    here = Path(__file__).parent
    path = os.pathsep.join([str(here), str(here.parents[1])])
    return subprocess.Popen(
        [sys.executable, str(here / "grade_toy.py"), str(folder), "2"],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
    )


def hand_in_all(course: Course) -> None:
    for number in range(24):
        source = list(POINTS)[number % len(POINTS)]
        hand_in(course, f"s{number:02}", f"# {number // 8}\n{source}")


def results(course: Course) -> dict[str, Any]:
    """What the journal has of each student, but for how long it took."""
    found = {}
    with read_journal(course.journal) as journal:
        for student in collect(course.submitted, course.lessons).students:
            entry = journal.latest(student, LESSON)
            assert entry is not None
            found[student] = msgspec.to_builtins(entry)
    return {student: without_seconds(each) for student, each in found.items()}


def without_seconds(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_seconds(each) for key, each in value.items() if key != "seconds"}
    return [without_seconds(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("seed", [1, 2])
def test_a_run_that_is_killed_again_and_again_comes_to_the_same_end(
    tmp_path: Path, seed: int, mark: str
) -> None:
    undisturbed, killed = make_course(tmp_path / "one"), make_course(tmp_path / "other")
    for course in (undisturbed, killed):
        hand_in_all(course)
    with start(tmp_path / "one") as run:
        assert run.wait() == 0
    draw = random.Random(seed)
    told: set[str] = set()
    for _ in range(KILLS):
        with start(tmp_path / "other") as run:
            time.sleep(draw.uniform(0.3, 2.0))
            run.kill()
            told |= set((run.stdout or sys.stdin).read().splitlines())
        assert told <= lines_of(killed)
    with start(tmp_path / "other") as run:
        assert run.wait() == 0
    assert results(killed) == results(undisturbed)
    assert wait_until_gone(mark) == []


def lines_of(course: Course) -> set[str]:
    """What the journal has, as the run tells it."""
    found = set()
    with read_journal(course.journal) as journal:
        for student in collect(course.submitted, course.lessons).students:
            if entry := journal.latest(student, LESSON):
                found.add(f"{student} {entry.verdict.points}")
    return found


def test_ctrl_c_ends_it_with_all_its_processes(tmp_path: Path, mark: str) -> None:
    hand_in_all(make_course(tmp_path))
    with start(tmp_path) as run:
        assert run.stdout is not None
        run.stdout.readline()
        run.send_signal(signal.SIGINT)
        assert run.wait(20) == -signal.SIGINT
    assert wait_until_gone(mark) == []
