"""Grades a made-up class, to be killed on the way: `python grade_toy.py FOLDER JOBS`."""

from __future__ import annotations

import sys
from pathlib import Path

from class_kit import LESSON

from grader.classroom.course import Course
from grader.classroom.grading import grade_class
from grader.classroom.journal import open_journal
from grader.classroom.local import LocalExecutor
from grader.classroom.submissions import collect


def main(folder: str, jobs: str) -> None:
    course = Course(Path(folder, "course"), (LESSON,), root=Path(folder, "lessons"))
    collected = collect(course.submitted, course.lessons)
    with open_journal(course.journal) as journal, LocalExecutor(int(jobs)) as executor:
        for graded in grade_class(course, collected, executor, journal, sandbox="none"):
            print(graded.entry.student, graded.entry.verdict.points, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
