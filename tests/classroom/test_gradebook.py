"""nbgrader's gradebook, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import nbgrader.api
import postgresql
import pytest
from class_kit import LESSON, SUITE, entry, hand_in, make_course, verdict, write_lesson
from nbgrader.api import Gradebook
from sqlalchemy import create_engine, text

from grader.classroom.checks import checks_of
from grader.classroom.course import Course
from grader.classroom.database import GradebookError
from grader.classroom.gradebook import write_gradebook
from grader.classroom.journal import Entry
from grader.classroom.timestamp import parsed
from grader.verdict import CheckResult, Verdict

RIGHT = {"test_counts": 2, "test_doubles": 5, "test_doubles_what_is_negative": 3}


@pytest.fixture(scope="module", autouse=True)
def _version_asked_once() -> Iterator[None]:
    """nbgrader starts a program of two seconds for each new database, which says the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nbgrader.api, "get_alembic_version", cache(nbgrader.api.get_alembic_version))
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    with postgresql.server() as url:
        yield url


@pytest.fixture(
    params=["sqlite", pytest.param("postgresql", marks=pytest.mark.needs("postgresql"))]
)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'grades.db'}"
    postgres: str = request.getfixturevalue("postgres")
    engine = create_engine(postgres.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    engine.dispose()
    return postgres


def earned(**points: int) -> Verdict:
    """The verdict of somebody whose checks earned these points."""
    checks = [
        CheckResult(
            check.name,
            check.title,
            check.points,
            points.get(check.name, 0),
            "passed" if check.name in points else "failed",
            "Rule",
        )
        for check in _checks()
    ]
    base = verdict(sum(points.values()))
    return msgspec.structs.replace(base, checks=checks)


def _checks() -> Any:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return checks_of(write_lesson(Path(folder)))


def opened(url: str) -> Gradebook:
    return Gradebook(url.replace("postgresql://", "postgresql+psycopg://"))


def scores(url: str) -> dict[str, float]:
    with opened(url) as gradebook:
        return {student.id: student.score for student in gradebook.students}


def write(course: Course, url: str, **verdicts: Verdict) -> None:
    write_gradebook(course, [entry(name, found) for name, found in verdicts.items()], url)


def test_a_topic_is_an_assignment_a_lesson_a_notebook_a_check_a_grade_cell(
    course: Course, url: str
) -> None:
    write(course, url, ada=earned(**RIGHT), bob=earned(test_counts=2))
    with opened(url) as gradebook:
        (assignment,) = gradebook.assignments
        (notebook,) = assignment.notebooks
        cells = {cell.name: cell.max_score for cell in notebook.grade_cells}
        assert (assignment.name, notebook.name) == tuple(LESSON.split("/"))
        assert cells == RIGHT
        assert assignment.max_score == 10
        submission = gradebook.find_submission_notebook("counter", "toy", "bob")
        found = {grade.name: grade.auto_score for grade in submission.grades}
        assert found == {"test_counts": 2, "test_doubles": 0, "test_doubles_what_is_negative": 0}
        assert not submission.needs_manual_grade
    assert scores(url) == {"ada": 10, "bob": 2}


def test_names_that_trip_up_others(course: Course, url: str) -> None:
    names = ["Doe, Jane", "=1+1", "O'Brien", 'the "one"', "Zoë 🙂", "x" * 120]
    write_gradebook(course, [entry(name, earned(test_counts=2)) for name in names], url)
    assert scores(url) == dict.fromkeys(names, 2)


def test_writing_again_changes_nothing_and_a_new_verdict_does(course: Course, url: str) -> None:
    for _ in range(2):
        write(course, url, ada=earned(test_counts=2))
    assert scores(url) == {"ada": 2}
    write(course, url, ada=earned(**RIGHT))
    assert scores(url) == {"ada": 10}


def test_what_a_person_entered_stays(course: Course, url: str) -> None:
    write(course, url, ada=earned(test_counts=2))
    with opened(url) as gradebook:
        grade = gradebook.find_grade("test_doubles", "counter", "toy", "ada")
        grade.manual_score, grade.extra_credit, grade.needs_manual_grade = 4, 1.5, False
        gradebook.db.commit()
    write(course, url, ada=earned(test_counts=2))
    with opened(url) as gradebook:
        grade = gradebook.find_grade("test_doubles", "counter", "toy", "ada")
        assert (grade.manual_score, grade.extra_credit) == (4, 1.5)
        assert not grade.needs_manual_grade
    assert scores(url) == {"ada": 7.5}
    write(course, url, ada=earned(**RIGHT))
    with opened(url) as gradebook:
        grade = gradebook.find_grade("test_doubles", "counter", "toy", "ada")
        assert (grade.manual_score, grade.auto_score) == (4, 5)
        assert grade.needs_manual_grade, "somebody is to look at what has changed under it"


def test_what_the_grader_failed_at_is_no_zero_and_needs_a_person(course: Course, url: str) -> None:
    failed = Verdict(LESSON, "grader_error", 0, 0)
    written = write_gradebook(course, [entry("ada", failed)], url)
    assert (written.lessons, written.need_a_person) == (1, 1)
    with opened(url) as gradebook:
        notebook = gradebook.find_submission_notebook("counter", "toy", "ada")
        assert {grade.auto_score for grade in notebook.grades} == {None}
        assert notebook.needs_manual_grade
    write(course, url, ada=earned(**RIGHT))
    with opened(url) as gradebook:
        assert not gradebook.find_submission("toy", "ada").needs_manual_grade


def test_what_cannot_be_loaded_or_is_not_begun_has_no_points(course: Course, url: str) -> None:
    empty = [Verdict(LESSON, "cannot_load", 0, 10), Verdict(LESSON, "not_started", 0, 10)]
    write(course, url, ada=empty[0], bob=empty[1])
    assert scores(url) == {"ada": 0, "bob": 0}
    with opened(url) as gradebook:
        assert not gradebook.find_submission("toy", "ada").needs_manual_grade


def test_a_check_that_the_suite_no_longer_has_counts_for_nobody(course: Course, url: str) -> None:
    write(course, url, ada=earned(test_counts=2))
    write_lesson(course.root, SUITE.replace("def test_counts(", "def test_counts_from_one("))
    checks_of.cache_clear()
    write(course, url, bob=earned(test_doubles=5))
    checks_of.cache_clear()
    with opened(url) as gradebook:
        cells = {cell.name for cell in gradebook.find_notebook("counter", "toy").grade_cells}
        assert "test_counts" not in cells
        assert "test_counts_from_one" in cells
        assert gradebook.find_assignment("toy").max_score == 10


class TestLate:
    """nbgrader's own penalty, from its own timestamp."""

    def late(self, course: Course, hours: float) -> None:
        path = hand_in(course, "ada", "")
        time = datetime(2027, 2, 1, tzinfo=UTC) + timedelta(hours=hours)
        (path.parent / "timestamp.txt").write_text(f"{time:%Y-%m-%d %H:%M:%S.%f} UTC")

    def penalty(self, url: str) -> float | None:
        with opened(url) as gradebook:
            found: float | None = gradebook.find_submission_notebook(
                "counter", "toy", "ada"
            ).late_submission_penalty
            return found

    def course(self, tmp_path: Path, late: str) -> Course:
        due = {"toy": datetime(2027, 2, 1)}
        return make_course(tmp_path / "late", due=due, late=late)

    @pytest.mark.parametrize(
        ("method", "hours", "penalty"),
        [("zero", 1, 10.0), ("zero", -1, None), ("none", 1, None)],
    )
    def test_by_the_course_s_rule(
        self, tmp_path: Path, url: str, method: str, hours: float, penalty: float | None
    ) -> None:
        course = self.course(tmp_path, method)
        self.late(course, hours)
        write(course, url, ada=earned(**RIGHT))
        assert self.penalty(url) == penalty

    def test_by_the_teacher_s_own_plugin(self, tmp_path: Path, url: str) -> None:
        course = self.course(tmp_path, "none")
        self.late(course, 3)
        (course.folder / "nbgrader_config.py").write_text(
            "from nbgrader.plugins import BasePlugin\n"
            "class Hourly(BasePlugin):\n"
            "    def late_submission_penalty(self, student_id, score, total_seconds_late):\n"
            "        return total_seconds_late / 3600\n"
            "c = get_config()\n"
            "c.AssignLatePenalties.plugin_class = Hourly\n"
        )
        write(course, url, ada=earned(**RIGHT))
        assert self.penalty(url) == 3

    def test_an_extension_counts(self, tmp_path: Path, url: str) -> None:
        course = self.course(tmp_path, "zero")
        self.late(course, 1)
        write(course, url, ada=earned(**RIGHT))
        with opened(url) as gradebook:
            gradebook.grant_extension("toy", "ada", days=1)
        write(course, url, ada=earned(**RIGHT))
        assert self.penalty(url) is None

    def test_a_timestamp_that_is_none_is_as_if_there_were_none(
        self, tmp_path: Path, url: str
    ) -> None:
        course = self.course(tmp_path, "zero")
        path = hand_in(course, "ada", "")
        (path.parent / "timestamp.txt").symlink_to("/etc/hostname")
        write(course, url, ada=earned(**RIGHT))
        assert self.penalty(url) is None


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2027-02-01 12:00:00 UTC", datetime(2027, 2, 1, 12, tzinfo=UTC)),
        ("2027-02-01 12:00:00.25 +0100", datetime(2027, 2, 1, 11, 0, 0, 250000, tzinfo=UTC)),
        ("2027-02-01T12:00:00", datetime(2027, 2, 1, 12, tzinfo=UTC)),
    ],
)
def test_timestamps(text: str, time: datetime) -> None:
    assert parsed(text) == time


def test_a_database_that_cannot_be_reached_is_said(course: Course) -> None:
    found: list[Entry] = [entry("ada", earned(test_counts=2))]
    with pytest.raises(GradebookError, match="every verdict is in the journal") as caught:
        write_gradebook(course, found, "postgresql://teacher:secret@127.0.0.1:1/none")
    assert "secret" not in str(caught.value)
