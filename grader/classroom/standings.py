"""How each student stands with each lesson: what a report is made from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal

from grader.classroom.course import Course
from grader.classroom.journal import Entry, Journal, read_journal
from grader.classroom.submissions import Collected, Stray, collect

State = Literal["graded", "changed", "not_graded", "not_handed_in"]


@dataclass(frozen=True)
class Standing:
    """A student's lesson; `changed` means edited since the verdict that `entry` has."""

    student: str
    lesson: str
    state: State
    entry: Entry | None = None


class ClassStandings:
    """All standings of a course. A verdict is read from the journal when it is asked for."""

    def __init__(self, course: Course, collected: Collected, journal: Journal) -> None:
        self.course = course
        self.students = collected.students
        self.lessons = course.lessons
        self.strays: tuple[Stray, ...] = collected.strays
        self._journal = journal
        self._digests = {(each.student, each.lesson): each.digest for each in collected}

    def of(self, student: str, lesson: str) -> Standing:
        """How a student stands with a lesson."""
        digest = self._digests.get((student, lesson))
        if digest is None:
            return Standing(student, lesson, "not_handed_in")
        entry = self._journal.latest(student, lesson)
        if entry is None:
            return Standing(student, lesson, "not_graded")
        return Standing(student, lesson, "graded" if entry.digest == digest else "changed", entry)

    def of_student(self, student: str) -> list[Standing]:
        return [self.of(student, lesson) for lesson in self.lessons]

    def of_lesson(self, lesson: str) -> Iterator[Standing]:
        return (self.of(student, lesson) for student in self.students)

    def entries(self) -> Iterator[Entry]:
        """Every entry of what is handed in, student by student."""
        for student in self.students:
            yield from (each.entry for each in self.of_student(student) if each.entry)

    @property
    def unsealed(self) -> bool:
        """Whether anything was graded without a sandbox."""
        return any(entry.sandbox == "none" for entry in self.entries())

    def close(self) -> None:
        self._journal.close()

    def __enter__(self) -> ClassStandings:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def standings_of(course: Course, submitted: Path | None = None) -> ClassStandings:
    """How a course's students stand, by its journal."""
    collected = collect(submitted or course.submitted, course.lessons)
    return ClassStandings(course, collected, read_journal(course.journal))
