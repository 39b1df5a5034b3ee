"""Which verdicts are kept, and what they depend on."""

from pathlib import Path
from typing import Any

import pytest

from grader import cache
from grader.lessons import Lesson
from grader.source import read_source
from grader.verdict import CheckResult, GraderError, TimedOut, Verdict

PASSED = Verdict("toy/stack", "passed", 20, 20)


@pytest.fixture
def lesson(toy: Any, tmp_path: Path) -> Lesson:
    written: Lesson = toy.write(tmp_path / "course")
    return written


def test_a_kept_verdict_is_found_under_its_key_alone(tmp_path: Path) -> None:
    cache.keep(tmp_path, "a" * 64, PASSED)
    assert cache.find(tmp_path, "toy/stack", "a" * 64) == PASSED
    assert cache.find(tmp_path, "toy/stack", "b" * 64) is None


def test_a_damaged_file_is_as_good_as_none(tmp_path: Path) -> None:
    cache.keep(tmp_path, "a" * 64, PASSED)
    next(tmp_path.rglob("*.json")).write_bytes(b"{")
    assert cache.find(tmp_path, "toy/stack", "a" * 64) is None


@pytest.mark.parametrize(
    "verdict",
    [
        Verdict("toy/stack", "grader_error", 0, 0, error=GraderError("no")),
        Verdict("toy/stack", "cannot_load", 0, 0),
        Verdict(
            "toy/stack",
            "failed",
            0,
            2,
            checks=[CheckResult("t", "T", 2, 0, "failed", "r", TimedOut(call="f()", seconds=5.0))],
        ),
    ],
)
def test_what_may_come_out_differently_another_time_is_not_kept(
    tmp_path: Path, verdict: Verdict
) -> None:
    cache.keep(tmp_path, "a" * 64, verdict)
    assert cache.find(tmp_path, "toy/stack", "a" * 64) is None


def test_the_key_changes_with_submission_suite_and_solution(
    toy: Any, lesson: Lesson, tmp_path: Path
) -> None:
    submission = toy.submit(tmp_path)
    keys = {cache.key(lesson, read_source(submission))}
    assert cache.key(lesson, read_source(submission)) in keys
    for path in (submission, lesson.suite, lesson.solution):
        path.write_text(path.read_text() + "\n# changed\n")
        key = cache.key(lesson, read_source(submission))
        assert key not in keys
        keys.add(key)


def test_only_the_latest_verdicts_of_a_lesson_are_kept(tmp_path: Path) -> None:
    for number in range(cache.KEPT_PER_LESSON + 3):
        cache.keep(tmp_path, f"{number:064}", PASSED)
    assert len(list(tmp_path.rglob("*.json"))) == cache.KEPT_PER_LESSON


def test_a_folder_that_cannot_be_written_to_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "verdicts").write_text("a file where a folder should be")
    cache.keep(tmp_path, "a" * 64, PASSED)
    assert cache.find(tmp_path, "toy/stack", "a" * 64) is None
