"""nbgrader's own gradebook, filled from verdicts.

A topic is an assignment, a lesson a notebook, a check a grade cell with its points. What a person
has entered (a manual score, extra credit, an extension, a comment) is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from nbgrader.api import (
    Assignment,
    Grade,
    Gradebook,
    MissingEntry,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)
from nbgrader.preprocessors import AssignLatePenalties
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from grader.classroom.checks import checks_of
from grader.classroom.course import Course
from grader.classroom.database import opened
from grader.classroom.journal import Entry
from grader.classroom.timestamp import handed_in_at
from grader.verdict import Verdict

_CHECK = "test_"
_IN_ONE_TRANSACTION = 200


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
    with opened(url or course.gradebook_url, course.course_id) as gradebook:
        writer = _Writer(gradebook, course)
        for number, entry in enumerate(entries, start=1):
            writer.write(entry)
            if number % _IN_ONE_TRANSACTION == 0:
                writer.commit()
        writer.commit()
        return Written(writer.lessons, writer.need_a_person)


@dataclass(frozen=True)
class _Lesson:
    """A lesson in the gradebook: its notebook, and the check of each grade cell, by their ids."""

    notebook: str
    checks: dict[str, str]


@dataclass(frozen=True)
class _Submission:
    """A student's topic in the gradebook, and how late it was."""

    id: str
    seconds_late: float


class _Writer:
    """Writes one entry after another. What it meets again it knows by its id."""

    def __init__(self, gradebook: Gradebook, course: Course) -> None:
        self._gradebook = gradebook
        self._db: Any = gradebook.db
        self._course = course
        self._late = _late_penalties(course)
        self._lessons: dict[str, _Lesson] = {}
        self._submissions: dict[tuple[str, str], _Submission] = {}
        self.lessons = self.need_a_person = 0

    def write(self, entry: Entry) -> None:
        if entry.lesson not in self._lessons:
            self._set_up(_topic(entry.lesson))
        lesson = self._lessons[entry.lesson]
        submission = self._submission(_topic(entry.lesson), entry.student)
        notebook = self._notebook(submission, lesson)
        scores = _scores(entry.verdict)
        for grade in self._grades(notebook, lesson):
            name = lesson.checks[grade.cell_id]
            _set(grade, None if scores is None else scores.get(name, 0.0))
        notebook.late_submission_penalty = self._penalty(entry.student, submission, notebook)
        self.lessons += 1
        self.need_a_person += scores is None

    def commit(self) -> None:
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
                self._lessons[lesson] = self._set_up_lesson(lesson)

    def _set_up_lesson(self, lesson: str) -> _Lesson:
        topic, name = lesson.split("/")
        self._gradebook.update_or_create_notebook(name, topic)
        checks = checks_of(self._course.files_of(lesson))
        for check in checks:
            self._gradebook.update_or_create_grade_cell(
                check.name, name, topic, max_score=check.points, cell_type="code"
            )
        known = {check.name for check in checks}
        notebook = self._gradebook.find_notebook(name, topic)
        for cell in notebook.grade_cells:
            if cell.name.startswith(_CHECK) and cell.name not in known:
                # A check that the suite no longer has would count against everybody.
                for grade in list(cell.grades):
                    self._db.delete(grade)
                self._db.delete(cell)
        self._db.commit()
        cells = {cell.id: cell.name for cell in notebook.grade_cells if cell.name in known}
        return _Lesson(notebook.id, cells)

    def _submission(self, topic: str, student: str) -> _Submission:
        key = (topic, student)
        if key not in self._submissions:
            found = self._found_or_made(topic, student)
            timestamp = handed_in_at(self._course.submitted, student, topic)
            if timestamp is not None:
                found.timestamp = timestamp.replace(tzinfo=None)
            self._db.flush()
            self._submissions[key] = _Submission(found.id, found.total_seconds_late)
        return self._submissions[key]

    def _found_or_made(self, topic: str, student: str) -> SubmittedAssignment:
        try:
            return self._gradebook.find_submission(topic, student)
        except MissingEntry:
            self._gradebook.update_or_create_student(student)
        # Not nbgrader's add_submission: that makes a notebook of each lesson, handed in or not.
        assignment = self._db.query(Assignment).filter_by(name=topic).one()
        made = SubmittedAssignment(
            assignment=assignment, student=self._db.query(Student).filter_by(id=student).one()
        )
        self._db.add(made)
        return made

    def _notebook(self, submission: _Submission, lesson: _Lesson) -> SubmittedNotebook:
        ids = {"notebook_id": lesson.notebook, "assignment_id": submission.id}
        found = self._db.query(SubmittedNotebook).filter_by(**ids).one_or_none()
        if found is None:
            found = SubmittedNotebook(**ids)
            self._db.add(found)
            self._db.flush()
        return found

    def _grades(self, notebook: SubmittedNotebook, lesson: _Lesson) -> list[Grade]:
        found = self._db.query(Grade).filter_by(notebook_id=notebook.id).all()
        found = [grade for grade in found if grade.cell_id in lesson.checks]
        there = {grade.cell_id for grade in found}
        made = [
            Grade(cell_id=cell, notebook_id=notebook.id)
            for cell in lesson.checks
            if cell not in there
        ]
        self._db.add_all(made)
        return [*found, *made]

    def _penalty(
        self, student: str, submission: _Submission, notebook: SubmittedNotebook
    ) -> float | None:
        """What nbgrader's own plugin takes off what was handed in late."""
        if submission.seconds_late <= 0:
            return None
        self._db.flush()
        self._db.refresh(notebook, ["score"])
        penalty = self._late.plugin_inst.late_submission_penalty(
            student, notebook.score, submission.seconds_late
        )
        return None if penalty is None else self._late._check_late_penalty(notebook, penalty)


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
