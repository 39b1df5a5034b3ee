"""Grading a lesson for a learner: the runner's verdict, remembered in the progress."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from grader.learner import Learner
from grader.progress import Progress, digest
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

    exercise = learner.places.exercise(lesson.path)
    content = digest(exercise)
    verdict = grade(lesson.path, submission or exercise, fresh=fresh, tell=tell)
    if submission is None:
        remember(learner.progress, verdict, content)
    return verdict


def remember(progress: Progress, verdict: Verdict, content: str | None) -> None:
    """Note the verdict on an exercise whose content had that digest."""
    if verdict.status in ("not_started", "grader_error"):
        return
    with progress.change(verdict.lesson) as record:
        record.points, record.max_points = verdict.points, verdict.max_points
        record.graded_digest = content
        if verdict.status == "passed":
            record.passed_digest = content
