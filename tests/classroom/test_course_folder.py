"""What a course's folder may say, and what is said of one that cannot be used."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from grader.classroom.course import CourseError, open_course
from manifest.course import load


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "submitted").mkdir()
    return tmp_path


def test_without_a_configuration_it_has_every_lesson_that_is_written(folder: Path) -> None:
    assert open_course(folder).lessons == tuple(lesson.path for lesson in load().written)


def test_lessons_and_topics_in_the_course_s_order(folder: Path) -> None:
    text = "lessons: [token_budget, kv_cache/block_pool]\nlate: zero\ncourse_id: llm27\n"
    (folder / "classroom.yaml").write_text(text)
    course = open_course(folder)
    assert set(course.lessons) == {"scheduler/token_budget", "kv_cache/block_pool"}
    assert list(course.lessons) == [e.path for e in load().written if e.path in course.lessons]
    assert (course.configuration.late, course.course_id) == ("zero", "llm27")


@pytest.mark.parametrize(
    ("written", "due"),
    [
        ("2027-01-31", datetime(2027, 1, 31, 23, 59, 59, tzinfo=UTC)),
        ("2027-01-31T12:00:00+02:00", datetime(2027, 1, 31, 10, tzinfo=UTC)),
        ("2027-01-31 12:00:00", datetime(2027, 1, 31, 12, tzinfo=UTC)),
    ],
)
def test_due_dates(folder: Path, written: str, due: datetime) -> None:
    (folder / "classroom.yaml").write_text(f"due: {{kv_cache: {written}}}\n")
    assert open_course(folder).due("kv_cache") == due
    assert open_course(folder).due("scheduler") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lesson: [x]", "unknown field `lesson`"),
        ("lessons: [block_pol]", "there is no lesson or topic block_pol"),
        ("due: {kv: 2027-01-31}", "there is no topic kv"),
        ("late: half", "late"),
        ("due: {kv_cache: soon}", "due"),
        ("a: [", "classroom.yaml"),
    ],
)
def test_a_mistake_is_said_with_its_file(folder: Path, text: str, said: str) -> None:
    (folder / "classroom.yaml").write_text(text)
    with pytest.raises(CourseError, match=r"classroom\.yaml") as caught:
        open_course(folder)
    assert said in str(caught.value)


def test_a_folder_without_submissions(tmp_path: Path) -> None:
    with pytest.raises(CourseError, match="submitted/STUDENT/TOPIC"):
        open_course(tmp_path)
