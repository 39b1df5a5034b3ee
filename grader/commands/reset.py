"""`vllmlings reset`: the stub again, with a dated copy of the work kept."""

from __future__ import annotations

from datetime import datetime

import click

from grader.commands.common import LESSON
from grader.files import write_atomically
from grader.learner import Learner
from grader.lessons import Lesson as Files
from grader.places import shown
from manifest.course import Lesson


@click.command("reset")
@click.argument("lesson", type=LESSON)
def command(lesson: Lesson) -> None:
    """Put the stub of LESSON back. What you had written is kept in a dated copy."""
    from grader.stub import is_stub, stub_of

    learner = Learner()
    files = Files(lesson.path)
    exercise = learner.places.exercise(lesson.path)
    if is_stub(files, exercise):
        click.echo(f"{shown(exercise)}: this is the stub already; nothing to reset.")
        return
    if exercise.exists():
        timestamp = datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
        kept = learner.places.kept(lesson.path, timestamp)
        number = 1
        while kept.exists():
            number += 1
            kept = learner.places.kept(lesson.path, f"{timestamp}-{number}")
        write_atomically(kept, exercise.read_bytes())
        click.echo(f"Your work is kept as {shown(kept)}")
    write_atomically(exercise, stub_of(files))
    with learner.progress.change(lesson.path) as record:
        record.points = record.max_points = record.graded_digest = record.passed_digest = None
    learner.warn_of_lost_progress()
    click.echo(f"{shown(exercise)} is the stub again.")
