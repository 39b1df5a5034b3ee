"""nbgrader's Execute step, sealed: no kernel is started, and nothing of a notebook runs here.

The solution cells go to the sealed grader, and its verdict into the cells of the checks: their
points as the cell's result, which is how nbgrader takes partial credit, and a few words above it.
A verdict that the course's journal has is not asked for again.
"""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args

import nbformat
from nbformat import NotebookNode
from nbgrader.converters import Autograde, GenerateAssignment
from nbgrader.preprocessors import (
    ClearSolutions,
    Execute,
    NbGraderPreprocessor,
    SaveAutoGrades,
)
from nbgrader.utils import is_grade
from traitlets import Enum

from grader.classroom.course import Course, open_course
from grader.classroom.grading import grade_class
from grader.classroom.journal import Entry, open_journal
from grader.classroom.local import LocalExecutor
from grader.classroom.notebook import NotebookError, solution_of
from grader.classroom.submissions import Problem, Submission
from grader.report.classroom.cells import cell_words
from grader.report.classroom.words import Detail
from grader.sandbox import Sandbox, choose

_RESOURCE = "vllmlings"


class SealedExecute(NbGraderPreprocessor):
    """Takes the place of `Execute` in `Autograde.autograde_preprocessors`."""

    detail: Enum[Detail] = Enum(
        get_args(Detail), "names", help="What a student is told of a failed check."
    ).tag(config=True)
    sandbox: Enum[Sandbox] = Enum(
        get_args(Sandbox), "bubblewrap", help="What confines a submission."
    ).tag(config=True)

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Grade the notebook, and write the results into its cells.

        Raises:
            SandboxMissing: this machine has no sandbox, and none is what was not asked for.
            CourseError: the course's folder, or its classroom.yaml, cannot be used.
            JournalInUse: `vllmlings classroom grade` is at work on this course.
        """
        own = resources["nbgrader"]
        lesson = f"{own['assignment']}/{own['notebook']}"
        course = open_course(Path.cwd())
        if lesson not in course.lessons:
            self.log.warning("%s is no lesson of this course: its cells are left alone", lesson)
            return nb, resources
        entry = self._graded(course, _submission(nb, own["student"], lesson))
        verdict = entry.verdict
        earned = {check.name: check.earned for check in verdict.checks}
        needs_a_person = verdict.status == "grader_error"
        resources[_RESOURCE] = {"needs_a_person": needs_a_person}
        for cell in nb.cells:
            if cell.cell_type == "code":
                cell.outputs = []
            if is_grade(cell):
                name = cell.metadata.nbgrader.grade_id
                words = cell_words(entry, name, self.detail)
                points = None if needs_a_person else earned.get(name, 0)
                cell.outputs = list(_outputs(words, points))
        return nb, resources

    def _graded(self, course: Course, submission: Submission) -> Entry:
        choose(self.sandbox)
        with open_journal(course.journal) as journal:
            graded = grade_class(course, [submission], _executor(), journal, self.sandbox)
            return next(each.entry for each in graded)


class SaveSealedGrades(SaveAutoGrades):
    """nbgrader's, but what the grader itself failed at is left to a person and is no zero."""

    def _add_score(self, cell: NotebookNode, resources: dict[str, Any]) -> None:
        super()._add_score(cell, resources)
        if not resources.get(_RESOURCE, {}).get("needs_a_person"):
            return
        grade = self.gradebook.find_grade(
            cell.metadata.nbgrader.grade_id, self.notebook_id, self.assignment_id, self.student_id
        )
        grade.auto_score, grade.needs_manual_grade = None, True
        self.gradebook.db.commit()


def autograde_steps() -> list[type]:
    """nbgrader's steps of autograding, with the sealed ones in their places."""
    sealed = {Execute: SealedExecute, SaveAutoGrades: SaveSealedGrades}
    return [sealed.get(step, step) for step in Autograde.autograde_preprocessors.default()]


def release_steps() -> list[type]:
    """nbgrader's steps of making an assignment, without the one that would empty a stub."""
    return [
        step for step in GenerateAssignment.preprocessors.default() if step is not ClearSolutions
    ]


def _submission(nb: NotebookNode, student: str, lesson: str) -> Submission:
    path = f"{student}/{lesson}.ipynb"
    try:
        source = solution_of(nbformat.writes(nb).encode(), lesson)
    except NotebookError as error:
        problem = Problem("notebook", error.cause, error.fix)
        return Submission(student, lesson, path, None, problem)
    return Submission(student, lesson, path, source)


def _outputs(words: str, points: int | None) -> Iterator[NotebookNode]:
    yield nbformat.v4.new_output("stream", name="stdout", text=f"{words}\n")
    if points is not None:
        data = {"text/plain": str(points)}
        yield nbformat.v4.new_output("execute_result", data=data, execution_count=None)


@cache
def _executor() -> LocalExecutor:
    """One for all notebooks of this process, since a suite is ready once it has been used."""
    executor = LocalExecutor(jobs=1)
    atexit.register(executor.close)
    return executor
