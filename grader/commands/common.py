"""What several commands share: the names a learner types, and the errors of a wrong use."""

from __future__ import annotations

from typing import Any

import click

from grader.learner import Learner
from manifest.course import Lesson, Topic, UnknownName, load


def unwritten(lesson: Lesson) -> click.UsageError:
    """The lesson has its place in the course, but no files yet."""
    written = ", ".join(one.path for one in load().written)
    return click.UsageError(f"{lesson.path}: this lesson is still to come; there are {written}")


def the_learner() -> Learner:
    """The learner, who is told at the end of the command if progress was lost, or is not kept."""
    learner = Learner()
    click.get_current_context().call_on_close(learner.warn_of_lost_progress)
    return learner


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
