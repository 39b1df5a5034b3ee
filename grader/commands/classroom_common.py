"""What the classroom's commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from grader.classroom.course import Course, CourseError, open_course
from grader.classroom.outgoing import AlreadyThere, Files, write_files
from grader.commands.common import lessons_named
from grader.lessons import Lesson
from manifest.course import load

COURSE = click.argument(
    "folder", metavar="COURSE", type=click.Path(exists=True, file_okay=False, path_type=Path)
)


def lesson_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--lesson NAME`, more than once if you like; a topic is all of its lessons."""
    option = click.option(
        "--lesson", "names", metavar="LESSON|TOPIC", multiple=True, help="Only these lessons."
    )
    return option(command)


def course_in(folder: Path, names: tuple[str, ...]) -> Course:
    """The course, narrowed to the lessons that are named."""
    try:
        course = open_course(folder)
    except CourseError as error:
        raise click.UsageError(str(error)) from error
    if not names:
        return course
    wanted = {lesson.path for name in names for lesson in lessons_named(name)}
    if absent := sorted(wanted - set(course.lessons)):
        raise click.UsageError(f"--lesson: this course does not have {', '.join(absent)}")
    return replace(course, lessons=tuple(each for each in course.lessons if each in wanted))


@contextmanager
def needs_extra(extra: str) -> Iterator[None]:
    """Says which extra of this package to install where an import in the block fails."""
    try:
        yield
    except ImportError as error:
        if error.name and error.name.partition(".")[0] in ("grader", "reference", "manifest"):
            raise
        raise click.ClickException(
            f"{error.name or error} is not installed; install it with "
            f"pip install -c constraints.txt -e '.[{extra}]'"
        ) from error


def overwrite_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--overwrite`, for commands that write files."""
    option = click.option("--overwrite", is_flag=True, help="Replace files that differ.")
    return option(command)


def lessons_chosen(names: tuple[str, ...]) -> list[Lesson]:
    """The lessons that are named, in the course's order; all that are written if none is."""
    wanted = {lesson.path for name in names for lesson in lessons_named(name)}
    written = [lesson.path for lesson in load().written]
    return [Lesson(path) for path in written if not names or path in wanted]


def written_into(folder: Path, files: Files, overwrite: bool) -> int:
    """Write the files; how many of them were not there as they are."""
    try:
        return len(write_files(folder, files, overwrite))
    except (AlreadyThere, OSError) as error:
        raise click.ClickException(str(error)) from error


def detail_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--detail`, for commands whose results a student reads."""
    option = click.option(
        "--detail",
        type=click.Choice(["none", "names", "stories"]),
        default="names",
        show_default=True,
        help="What is told of a check that failed: nothing, its name, its whole story.",
    )
    return option(command)
