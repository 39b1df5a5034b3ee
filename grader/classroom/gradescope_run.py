"""Grade the submission that Gradescope has put into place, and leave `results.json` for it.

    python -m grader.classroom.gradescope_run /autograder [--sandbox none] LESSON...

A student hands in files named after lessons, alone or in folders.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from grader.classroom.course import Course
from grader.classroom.grading import grade_class
from grader.classroom.journal import open_journal
from grader.classroom.local import LocalExecutor
from grader.classroom.standings import standings_of
from grader.classroom.submissions import SUFFIXES, collect
from grader.files import write_atomically
from grader.report.classroom.gradescope import gradescope_results
from grader.report.classroom.words import Detail
from grader.sandbox import Sandbox, SandboxMissing, choose

_STUDENT = "submission"


def main(arguments: Sequence[str] | None = None) -> None:
    """Grade what is in the folder, or say on stderr why that cannot be done, and exit with 1."""
    parser = argparse.ArgumentParser("gradescope_run")
    parser.add_argument("root", type=Path)
    parser.add_argument("lessons", nargs="+")
    parser.add_argument("--sandbox", choices=get_args(Sandbox), default="bubblewrap")
    parser.add_argument("--detail", choices=get_args(Detail), default="names")
    chosen = parser.parse_args(arguments)
    try:
        choose(chosen.sandbox)
    except SandboxMissing as error:
        sys.exit(f"{error}; or make the autograder anew with --sandbox none")
    results = graded(chosen.root / "submission", chosen.lessons, chosen.sandbox, chosen.detail)
    write_atomically(chosen.root / "results" / "results.json", results)


def graded(submission: Path, lessons: Sequence[str], sandbox: Sandbox, detail: Detail) -> str:
    """The text of `results.json` for a folder that a student has handed in."""
    with tempfile.TemporaryDirectory(prefix="vllmlings-") as folder:
        course = Course(Path(folder), tuple(lessons))
        lay_out(submission, course)
        collected = collect(course.submitted, course.lessons)
        with open_journal(course.journal) as journal, LocalExecutor() as executor:
            for _ in grade_class(course, collected, executor, journal, sandbox):
                pass
        with standings_of(course) as standings:
            return gradescope_results(standings.of_student(_STUDENT), detail)


def lay_out(submission: Path, course: Course) -> None:
    """Put each file that is named after a lesson where the course has it, links as links.

    Of two files for one lesson the one that lies less deep counts.
    """
    own = course.submitted / _STUDENT
    own.mkdir(parents=True)
    for path in sorted(_files(submission), key=lambda path: (len(path.parts), path)):
        for lesson in course.lessons:
            target = own / f"{lesson}{path.suffix}"
            if _is_for(path, lesson) and not os.path.lexists(target):
                target.parent.mkdir(exist_ok=True)
                shutil.copy(path, target, follow_symlinks=False)


def _files(folder: Path) -> list[Path]:
    inside = (Path(around, name) for around, _, names in os.walk(folder) for name in names)
    return [path for path in inside if path.suffix in SUFFIXES and _is_file_or_link(path)]


def _is_file_or_link(path: Path) -> bool:
    return path.is_symlink() or path.is_file()


def _is_for(path: Path, lesson: str) -> bool:
    return path.stem == lesson.split("/")[1]


if __name__ == "__main__":
    main()
