"""Desks: a worker for each submission, and no process left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from class_kit import HALF, LESSON, RIGHT, SOLUTION

from grader.cache import standard
from grader.classroom import local
from grader.classroom.course import Course
from grader.classroom.executor import Task
from grader.classroom.local import HiredDesk, LocalExecutor
from grader.verdict import Mismatched

MARK = "VLLMLINGS_TEST_MARK"


def task(course: Course, source: str, key: str = "key") -> Task:
    by = standard(course.files_of(LESSON))
    return Task(key, LESSON, source.encode(), by, "none", str(course.root))


def marked_processes(mark: str) -> list[int]:
    """The processes whose environment has the mark."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and mark.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def wait_until_gone(mark: str) -> list[int]:
    until = time.monotonic() + 15
    while (left := marked_processes(mark)) and time.monotonic() < until:
        time.sleep(0.05)
    return left


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch) -> str:
    """In the environment of every process that this test starts."""
    mark = uuid.uuid4().hex
    monkeypatch.setenv(MARK, mark)
    return mark


def test_a_submission_that_takes_over_its_worker_has_the_next_ones_not(course: Course) -> None:
    # A wrong answer shows what it was: the process that the session was forked from.
    tells = SOLUTION.replace("return 2 * number", "import os; return os.getppid()")
    with LocalExecutor(1) as executor:
        tasks = [task(course, f"# {number}\n{tells}", str(number)) for number in range(3)]
        verdicts = [result.verdict for result in executor.run(tasks)]
    failures = [each.failure for verdict in verdicts for each in verdict.checks]
    workers = [each.actual for each in failures if isinstance(each, Mismatched)]
    assert len(workers) == len(set(workers)) == 3


def test_suites_stay_warm(course: Course) -> None:
    with LocalExecutor(1) as executor:
        tasks = [task(course, f"# {number}\n{RIGHT}", str(number)) for number in range(4)]
        started = time.monotonic()
        times = []
        for result in executor.run(tasks):
            assert result.verdict.status == "passed"
            times.append(time.monotonic() - started)
    assert times[3] - times[0] < 3 * times[0]


def test_a_task_whose_desk_ends_is_tried_once_more(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[HiredDesk] = []
    give = HiredDesk.give

    def give_and_kill(desk: HiredDesk, one: Task) -> None:
        give(desk, one)
        given.append(desk)
        if len(given) == 1:
            os.killpg(desk._process.pid, signal.SIGKILL)

    monkeypatch.setattr(HiredDesk, "give", give_and_kill)
    with LocalExecutor(1) as executor:
        (result,) = executor.run([task(course, HALF)])
    assert (result.verdict.points, len(given)) == (2, 2)


def test_a_task_that_ends_every_desk_needs_a_person(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    give = HiredDesk.give

    def give_and_kill(desk: HiredDesk, one: Task) -> None:
        give(desk, one)
        os.killpg(desk._process.pid, signal.SIGKILL)

    monkeypatch.setattr(HiredDesk, "give", give_and_kill)
    with LocalExecutor(1) as executor:
        (result,) = executor.run([task(course, HALF)])
    assert result.verdict.status == "grader_error"
    assert result.verdict.error is not None
    assert result.verdict.error.cause == "the process that graded it ended, twice"


def test_a_task_that_takes_too_long_needs_a_person(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "LONGEST_TASK", 0.5)
    monkeypatch.setattr(local, "_LOOK_EVERY", 0.1)
    endless = SOLUTION.replace("return 2 * number", "while True: pass")
    with LocalExecutor(1) as executor:
        (result,) = executor.run([task(course, endless)])
    assert result.verdict.status == "grader_error"


def test_a_machine_with_other_suites_does_not_grade(course: Course) -> None:
    other = Task("key", LESSON, RIGHT.encode(), "another", "none", str(course.root))
    with LocalExecutor(1) as executor:
        (result,) = executor.run([other])
    assert result.verdict.status == "grader_error"
    assert result.verdict.error is not None
    assert "other suites" in result.verdict.error.cause


def test_closing_leaves_no_process(course: Course, mark: str) -> None:
    with LocalExecutor(2) as executor:
        list(executor.run([task(course, RIGHT)]))
        assert marked_processes(mark)
    assert wait_until_gone(mark) == []


def test_a_desk_ends_with_whoever_hired_it_in_the_midst_of_a_task(
    course: Course, mark: str, tmp_path: Path
) -> None:
    endless = tmp_path / "endless.py"
    endless.write_text(SOLUTION.replace("return 2 * number", "while True: pass"))
    by = standard(course.files_of(LESSON))
    program = (
        "import sys; from grader.classroom.local import HiredDesk;"
        "from grader.classroom.executor import Task; from pathlib import Path;"
        f"desk = HiredDesk(); source = Path({str(endless)!r}).read_bytes();"
        f"desk.give(Task('k', {LESSON!r}, source, {by!r}, 'none', {str(course.root)!r}));"
        "print(flush=True); desk.result()"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as hirer:
        assert hirer.stdout is not None
        hirer.stdout.readline()
        time.sleep(1.5)
        hirer.kill()
    assert wait_until_gone(mark) == []
