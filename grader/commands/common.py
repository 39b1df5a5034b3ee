"""What several commands share: the names a learner types, and the errors of a wrong use."""

from __future__ import annotations

from typing import Any

import click

from grader.places import Places, places
from grader.progress import Progress
from manifest.course import Course, Lesson, Topic, UnknownName, load


def unwritten(lesson: Lesson) -> click.UsageError:
    """The lesson has its place in the course, but no files yet."""
    written = ", ".join(one.path for one in load().written)
    return click.UsageError(f"{lesson.path}: this lesson is still to come; there are {written}")


class LessonName(click.ParamType[Lesson]):
    """`topic/lesson`, or the lesson's name alone. Only written lessons pass."""

    name = "lesson"

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,  # noqa: ARG002 (click's signature)
        ctx: click.Context | None,  # noqa: ARG002 (click's signature)
    ) -> Lesson:
        if isinstance(value, Lesson):
            return value
        topic = load().topic(value)
        if topic is not None:
            inside = topic.written or topic.lessons
            raise click.UsageError(f"{value}: a topic; name a lesson, such as {inside[0].path}")
        lesson = _lesson(value)
        if not lesson.written:
            raise unwritten(lesson)
        return lesson

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 (click's signature)
        param: click.Parameter,  # noqa: ARG002 (click's signature)
        incomplete: str,
    ) -> list[Any]:
        from click.shell_completion import CompletionItem

        return [
            CompletionItem(name, help=lesson.title)
            for lesson in load().written
            for name in (lesson.path, lesson.name)
            if name.startswith(incomplete)
        ]


LESSON = LessonName()


def lessons_named(name: str) -> tuple[Lesson, ...]:
    """The written lessons of a topic, or the one lesson of that name."""
    topic: Topic | None = load().topic(name)
    if topic is None:
        return (LESSON.convert(name, None, None),)
    if not topic.written:
        raise click.UsageError(f"{name}: the lessons of this topic are still to come")
    return topic.written


def _lesson(name: str) -> Lesson:
    try:
        return load().lesson(name)
    except UnknownName as error:
        raise click.UsageError(f"{error} (all of them: vllmlings list)") from error


class Learner:
    """The course, and where this learner stands in it."""

    def __init__(self, course: Course | None = None, where: Places | None = None) -> None:
        self.course = course or load()
        self.places = where or places()
        self.progress = Progress(self.places.state)

    def warn_of_lost_progress(self) -> None:
        """Say on stderr when the progress file could not be read and was set aside."""
        if self.progress.set_aside is not None:
            click.echo(
                f"{self.progress.set_aside.name}: the progress file could not be read; it was "
                "set aside and counting starts anew. Your exercises are untouched.",
                err=True,
            )

    def lesson_or_next(self, lesson: Lesson | None) -> Lesson:
        """The lesson that was named, or the next one that has not passed."""
        if lesson is not None:
            return lesson
        from grader.standing import next_lesson, standings

        found = next_lesson(standings(self.course, self.progress, self.places))
        return found if found is not None else self.course.written[-1]

    def lesson_after(self, lesson: Lesson) -> Lesson | None:
        """The next lesson behind this one that has not passed; None if there is none left."""
        from grader.standing import next_lesson, standings

        return next_lesson(standings(self.course, self.progress, self.places), lesson.path)
