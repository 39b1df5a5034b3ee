"""`vllmlings classroom release`: what students get."""

from __future__ import annotations

from pathlib import Path

import click

from grader.commands.classroom_common import (
    lesson_option,
    lessons_chosen,
    overwrite_option,
    written_into,
)


@click.command("release")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@lesson_option
@overwrite_option
def command(folder: Path, names: tuple[str, ...], overwrite: bool) -> None:
    """Write your students' bundle: the folder DIR/vllmlings-student, and a zip of it.

    It holds the lessons' texts and stubs and a command for the examples in them; no suite, no
    solution, nothing of the engine model.
    """
    from grader.classroom.outgoing import zipped
    from grader.classroom.release import NAME, student_bundle

    files = student_bundle(lessons_chosen(names))
    both = {f"{NAME}/{name}": content for name, content in files.items()}
    written_into(folder, both | {f"{NAME}.zip": zipped(files, NAME)}, overwrite)
    click.echo(f"{folder / NAME} and {folder / NAME}.zip: {len(files)} files for your students.")
