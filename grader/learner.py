"""One learner: the course, where they stand in it, and what they go on with."""

from __future__ import annotations

import sys

from grader.hints import read_hints
from grader.lessons import Lesson as Files
from grader.places import Places, places
from grader.progress import Progress
from grader.source import printable
from manifest.course import Course, Lesson, load


class NoHints(Exception):
    """There are no hints for this lesson."""

    def __init__(self, lesson: str) -> None:
        super().__init__(f"{lesson}: there is no hint for this lesson")
        self.lesson = lesson


class Learner:
    """The course, and where this learner stands in it.

    >>> Learner().lesson_or_next(None).written
    True
    """

    def __init__(self, course: Course | None = None, where: Places | None = None) -> None:
        self.course = course or load()
        self.places = where or places()
        self.progress = Progress(self.places.state)

    def lesson_or_next(self, lesson: Lesson | None) -> Lesson:
        """The lesson that was named, or the next one that has not passed; at the end the last."""
        if lesson is not None:
            return lesson
        from grader.standing import next_lesson, standings

        found = next_lesson(standings(self.course, self.progress, self.places))
        return found if found is not None else self.course.written[-1]

    def lesson_after(self, lesson: Lesson) -> Lesson | None:
        """The next lesson behind this one that has not passed; None if there is none left."""
        from grader.standing import next_lesson, standings

        return next_lesson(standings(self.course, self.progress, self.places), lesson.path)

    def hints(self, lesson: Lesson) -> tuple[list[str], int]:
        """All hints of a lesson, and how many of them were shown so far.

        Raises:
            NoHints: the lesson has none.
        """
        hints = read_hints(Files(lesson.path).hints)
        if not hints:
            raise NoHints(lesson.path)
        return hints, min(self.progress.of(lesson.path).hints_shown, len(hints))

    def next_hint(self, lesson: Lesson) -> tuple[list[str], int]:
        """The same with one hint more, if there is one, which counts as shown from now on."""
        hints, _ = self.hints(lesson)
        with self.progress.change(lesson.path) as record:
            record.hints_shown = min(record.hints_shown + 1, len(hints))
        return hints, record.hints_shown

    def warn_of_lost_progress(self) -> None:
        """Say on stderr when the progress file was set aside, and when nothing can be kept."""
        if self.progress.set_aside is not None:
            print(
                f"{self.progress.set_aside.name}: the progress file could not be read; it was "
                "set aside and counting starts anew. Your exercises are untouched.",
                file=sys.stderr,
            )
        if (problem := self.progress.problem) is not None:
            print(
                f"{printable(problem.filename or self.places.state)}: {problem.strerror}: your "
                "progress cannot be kept there. Put that right, or name another folder in "
                "VLLMLINGS_HOME.",
                file=sys.stderr,
            )
