"""How a learner stands with each lesson."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from grader.lessons import Lesson as Files
from grader.places import Places
from grader.progress import LessonProgress, Progress, digest
from grader.stub import is_stub
from manifest.course import Course, Lesson


class Standing(Enum):
    """A finished exercise that is edited again is pending until it passes again."""

    TO_COME = "to come"
    NOT_STARTED = "not started"
    STARTED = "started"
    TRIED = "not yet passed"
    PASSED = "passed"
    PENDING = "edited since it passed"


@dataclass(frozen=True, slots=True)
class LessonStanding:
    """A lesson with how the learner stands; points are of the last grading, if there was one."""

    lesson: Lesson
    standing: Standing
    points: int | None = None
    max_points: int | None = None

    @property
    def passed(self) -> bool:
        return self.standing is Standing.PASSED


def standing_of(lesson: Lesson, progress: LessonProgress, places: Places) -> LessonStanding:
    """How the learner stands with one lesson, from its files as they are now."""
    standing = _standing(lesson, progress, places)
    return LessonStanding(lesson, standing, progress.points, progress.max_points)


def standings(course: Course, progress: Progress, places: Places) -> list[LessonStanding]:
    """How the learner stands with every lesson, in the course's order."""
    records = progress.all()
    return [
        standing_of(lesson, records.get(lesson.path, LessonProgress()), places) for lesson in course
    ]


def next_lesson(all_standings: list[LessonStanding], after: str | None = None) -> Lesson | None:
    """The first written lesson that has not passed: behind `after` if there is one, else any."""
    open_ones = [s.lesson for s in all_standings if not s.passed and s.lesson.written]
    if after is not None:
        order = [s.lesson.path for s in all_standings]
        behind = [one for one in open_ones if order.index(one.path) > order.index(after)]
        open_ones = behind or [one for one in open_ones if one.path != after]
    return open_ones[0] if open_ones else None


def _standing(lesson: Lesson, progress: LessonProgress, places: Places) -> Standing:
    if not lesson.written:
        return Standing.TO_COME
    exercise = places.exercise(lesson.path)
    content = digest(exercise)
    if progress.ever_passed:
        return Standing.PASSED if content == progress.passed_digest else Standing.PENDING
    if content is None or is_stub(Files(lesson.path), exercise):
        return Standing.NOT_STARTED
    return Standing.STARTED if progress.points is None else Standing.TRIED
