"""`vllmlings classroom init`: an nbgrader course from the lessons."""

from __future__ import annotations

from pathlib import Path

import click

from grader.commands.classroom_common import (
    lesson_option,
    lessons_chosen,
    needs_extra,
    overwrite_option,
    written_into,
)


@click.command("init")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@lesson_option
@overwrite_option
def command(folder: Path, names: tuple[str, ...], overwrite: bool) -> None:
    """Make DIR an nbgrader course: notebooks from the lessons, and a sealed autograde.

    Then, in DIR: nbgrader generate_assignment TOPIC, autograde TOPIC, generate_feedback TOPIC,
    export, and formgrader in JupyterLab.
    """
    with needs_extra("classroom"):
        import nbgrader  # noqa: F401 (the course is nothing without it)
    from grader.classroom.nbgrader_course import nbgrader_course

    lessons = lessons_chosen(names)
    made = written_into(folder, nbgrader_course(lessons), overwrite)
    (folder / "submitted").mkdir(exist_ok=True)
    topic = lessons[0].name.split("/")[0]
    click.echo(f"{folder}: a course of {len(lessons)} lessons, {made} files written.")
    click.echo(f"Next, in {folder}: nbgrader generate_assignment {topic}")
