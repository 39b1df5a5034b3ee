"""`vllmlings reset`: the stub again, with a dated copy of the work kept."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import click

from grader.commands.common import LESSON, the_learner
from grader.files import unused, write_atomically
from grader.lessons import Lesson as Files
from grader.places import shown
from grader.source import Unreadable, read_source
from manifest.course import Lesson


@click.command("reset")
@click.argument("lesson", type=LESSON)
def command(lesson: Lesson) -> None:
    """Put the stub of LESSON back. What you had written is kept in a dated copy."""
    from grader.stub import is_stub, stub_of

    learner = the_learner()
    files = Files(lesson.path)
    exercise = learner.places.exercise(lesson.path)
    if is_stub(files, exercise):
        click.echo(f"{shown(exercise)}: this is the stub already; nothing to reset.")
        return
    if os.path.lexists(exercise):
        timestamp = datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
        kept = unused(learner.places.kept(lesson.path, timestamp))
        _keep(exercise, kept)
        click.echo(f"Your work is kept as {shown(kept)}")
    write_atomically(exercise, stub_of(files))
    with learner.progress.change(lesson.path) as record:
        record.points = record.max_points = record.graded_digest = record.passed_digest = None
    click.echo(f"{shown(exercise)} is the stub again.")


def _keep(exercise: Path, kept: Path) -> None:
    """Copy a file, so that it is there at every moment; move away whatever else is in its place."""
    try:
        write_atomically(kept, read_source(exercise).content)
    except Unreadable:
        kept.parent.mkdir(parents=True, exist_ok=True)
        exercise.rename(kept)
