"""nbgrader's own gradebook, filled from verdicts.

A topic is an assignment, a lesson a notebook, a check a grade cell with its points. What a person
has entered (a manual score, extra credit, an extension, a comment) is left as it is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from nbgrader.api import (
    Assignment,
    Grade,
    Gradebook,
    GradeCell,
    MissingEntry,
    Notebook,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)
from nbgrader.preprocessors import AssignLatePenalties
from sqlalchemy.exc import SQLAlchemyError
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from grader.classroom.checks import checks_of
from grader.classroom.course import Course
from grader.classroom.journal import Entry
from grader.classroom.timestamp import handed_in_at
from grader.verdict import Verdict

_CHECK = "test_"


class GradebookError(Exception):
    """The gradebook cannot be written to; verdicts are in the journal all the same."""

    def __init__(self, url: str, cause: str) -> None:
        super().__init__(
            f"the gradebook {url} cannot be written to: {cause}; every verdict is in the journal: "
            "mend it, and run the same command again"
        )
        self.url, self.cause = url, cause


@dataclass(frozen=True)
class Written:
    """How many students' lessons a gradebook has been given, and which of them need a person."""

    lessons: int
    need_a_person: int


def write_gradebook(course: Course, entries: Iterable[Entry], url: str | None = None) -> Written:
    """Write the verdicts into the gradebook at `url` (SQLAlchemy's), or the course's own.

    Writing the same verdicts again changes nothing.

    Raises:
        GradebookError: the database cannot be reached or does not take them.
    """
    url = _url(url or course.gradebook_url)
    by_topic = sorted(entries, key=lambda entry: (_topic(entry.lesson), entry.student))
    with _opened(url, course) as gradebook:
        writer = _Writer(gradebook, course)
        for (topic, student), group in groupby(
            by_topic, key=lambda entry: (_topic(entry.lesson), entry.student)
        ):
            writer.write(topic, student, list(group))
        return Written(writer.lessons, writer.need_a_person)


@contextmanager
def _opened(url: str, course: Course) -> Iterator[Gradebook]:
    try:
        with _tools_in_path(), Gradebook(url, course.course_id) as gradebook:
            yield gradebook
    except SQLAlchemyError as error:
        cause = " ".join(str(getattr(error, "orig", None) or error).split())
        shown, *_ = url.split("://")
        raise GradebookError(f"{shown}://…", cause) from error


@contextmanager
def _tools_in_path() -> Iterator[None]:
    """nbgrader asks `alembic` for a new database's version, whether or not it is in the path."""
    before = os.environ.get("PATH", "")
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), before])
    try:
        yield
    finally:
        os.environ["PATH"] = before


class _Writer:
    """Writes one student's topic after another, each in one transaction."""

    def __init__(self, gradebook: Gradebook, course: Course) -> None:
        self._gradebook = gradebook
        self._db: Any = gradebook.db
        self._course = course
        self._late = _late_penalties(course)
        self._topics: set[str] = set()
        self.lessons = self.need_a_person = 0

    def write(self, topic: str, student: str, entries: list[Entry]) -> None:
        if topic not in self._topics:
            self._topics.add(topic)
            self._set_up(topic)
        submission = self._submission(topic, student)
        for entry in entries:
            notebook = self._notebook(submission, entry.lesson)
            self._grade(notebook, entry)
            self._db.flush()
            self._penalize(submission, notebook)
        self._db.commit()
        self._db.expunge_all()

    def _set_up(self, topic: str) -> None:
        """The assignment with its notebooks and grade cells, as the suites are now."""
        due = self._course.due(topic)
        given = {} if due is None else {"duedate": due}
        self._gradebook.update_or_create_assignment(topic, course_id=self._course.course_id)
        self._gradebook.update_or_create_assignment(topic, **given)
        for lesson in self._course.lessons:
            if _topic(lesson) == topic:
                self._set_up_lesson(lesson)

    def _set_up_lesson(self, lesson: str) -> None:
        topic, name = lesson.split("/")
        self._gradebook.update_or_create_notebook(name, topic)
        checks = checks_of(self._course.files_of(lesson))
        for check in checks:
            self._gradebook.update_or_create_grade_cell(
                check.name, name, topic, max_score=check.points, cell_type="code"
            )
        known = {check.name for check in checks}
        for cell in self._gradebook.find_notebook(name, topic).grade_cells:
            if cell.name.startswith(_CHECK) and cell.name not in known:
                # A check that the suite no longer has would count against everybody.
                for grade in list(cell.grades):
                    self._db.delete(grade)
                self._db.delete(cell)
        self._db.commit()

    def _submission(self, topic: str, student: str) -> SubmittedAssignment:
        timestamp = handed_in_at(self._course.submitted, student, topic)
        try:
            found = self._gradebook.find_submission(topic, student)
        except MissingEntry:
            self._gradebook.update_or_create_student(student)
            # Not nbgrader's add_submission: that makes a notebook of each lesson, handed in or not.
            found = SubmittedAssignment(
                assignment=self._one(Assignment, name=topic), student=self._one(Student, id=student)
            )
            self._db.add(found)
        if timestamp is not None:
            found.timestamp = timestamp.replace(tzinfo=None)
        return found

    def _notebook(self, submission: SubmittedAssignment, lesson: str) -> SubmittedNotebook:
        name = lesson.split("/")[1]
        notebook: Notebook = next(n for n in submission.assignment.notebooks if n.name == name)
        found = next((n for n in submission.notebooks if n.notebook is notebook), None)
        if found is None:
            found = SubmittedNotebook(notebook=notebook, assignment=submission)
            self._db.add(found)
        graded = {grade.cell_id for grade in found.grades}
        for cell in notebook.grade_cells:
            if isinstance(cell, GradeCell) and cell.id not in graded:
                self._db.add(Grade(cell=cell, notebook=found))
        self._db.flush()
        return found

    def _grade(self, notebook: SubmittedNotebook, entry: Entry) -> None:
        scores = _scores(entry.verdict)
        checks = {check.name for check in checks_of(self._course.files_of(entry.lesson))}
        for grade in notebook.grades:
            if grade.cell.name in checks:
                _set(grade, None if scores is None else scores.get(grade.cell.name, 0.0))
        self.lessons += 1
        self.need_a_person += scores is None

    def _penalize(self, submission: SubmittedAssignment, notebook: SubmittedNotebook) -> None:
        """What nbgrader's own plugin takes off what was handed in late."""
        self._db.refresh(notebook, ["score"])
        seconds = submission.total_seconds_late
        penalty = None
        if seconds > 0:
            penalty = self._late.plugin_inst.late_submission_penalty(
                submission.student.id, notebook.score, seconds
            )
        if penalty is not None:
            penalty = self._late._check_late_penalty(notebook, penalty)
        notebook.late_submission_penalty = penalty

    def _one(self, kind: Any, **names: str) -> Any:
        return self._db.query(kind).filter_by(**names).one()


def _scores(verdict: Verdict) -> dict[str, float] | None:
    """What each check has earned; None where the grader failed, and a person has to look."""
    if verdict.status == "grader_error":
        return None
    return {check.name: float(check.earned) for check in verdict.checks}


def _set(grade: Grade, score: float | None) -> None:
    if score is None:
        grade.auto_score, grade.needs_manual_grade = None, True
        return
    # A person who has overruled another score than this one is to look again.
    overruled = grade.manual_score is not None
    has_changed = grade.auto_score != score
    if has_changed or not overruled:
        grade.needs_manual_grade = overruled
    grade.auto_score = score


def _late_penalties(course: Course) -> AssignLatePenalties:
    """nbgrader's, as the course's nbgrader_config.py has it; `late` where that says nothing."""
    config = Config()
    config.LateSubmissionPlugin.penalty_method = course.configuration.late
    file = course.folder / "nbgrader_config.py"
    if file.is_file():
        config.merge(PyFileConfigLoader(file.name, path=str(file.parent)).load_config())
    penalties = AssignLatePenalties(config=config)
    penalties.init_plugin()
    return penalties


def _topic(lesson: str) -> str:
    return lesson.split("/", maxsplit=1)[0]


def _url(url: str) -> str:
    """With the driver that this course installs.

    >>> _url("postgresql://teacher@localhost/class")
    'postgresql+psycopg://teacher@localhost/class'
    """
    for scheme in ("postgresql://", "postgres://"):
        if url.startswith(scheme):
            return "postgresql+psycopg://" + url.removeprefix(scheme)
    return url
