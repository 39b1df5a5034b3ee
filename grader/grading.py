"""Grading a lesson for a learner: the runner's verdict, remembered in the progress."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from grader.learner import Learner
from grader.lessons import Lesson as Files
from grader.progress import Progress
from grader.source import Source, Unreadable, read_source
from manifest.course import Lesson

if TYPE_CHECKING:
    from grader.verdict import Verdict


def grade_lesson(
    learner: Learner,
    lesson: Lesson,
    submission: Path | None = None,
    fresh: bool = False,
    tell: Callable[[int, int], None] | None = None,
) -> Verdict:
    """Grade the learner's exercise, or another `submission`, which leaves no mark.

    `tell` hears how many of how many checks are done.
    """
    from grader.runner import grade

    graded = content_of(submission or learner.places.exercise(lesson.path))
    verdict = grade(Files(lesson.path), graded, fresh=fresh, tell=tell)
    if submission is None:
        remember(learner.progress, verdict, graded)
    return verdict


def content_of(file: Path) -> Source | Path:
    """What the file holds now; itself, if it cannot be read, which its verdict will tell."""
    try:
        return read_source(file)
    except Unreadable:
        return file


def remember(progress: Progress, verdict: Verdict, graded: Source | Path) -> None:
    """Note the verdict on what was graded."""
    content = graded.digest if isinstance(graded, Source) else None
    if verdict.status in ("not_started", "grader_error"):
        return
    with progress.change(verdict.lesson) as record:
        record.points, record.max_points = verdict.points, verdict.max_points
        record.graded_digest = content
        if verdict.status == "passed":
            record.passed_digest = content
