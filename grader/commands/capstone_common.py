"""What the parts of `vllmlings capstone` share: which capstone, whose exam, which file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from grader.capstone.attempts import Attempts
    from grader.capstone.draw import Exam
    from grader.capstone.exam import Capstone

NUMBER = click.argument("number", metavar="N", type=click.IntRange(1))
STUDENT = click.option(
    "--student", metavar="ID", help="The exam of this student: its numbers are drawn from the ID."
)


def capstone_of(number: int) -> Capstone:
    """The capstone of that number; a wrong use where there is none."""
    from grader.capstone.exam import UnknownCapstone, capstone

    try:
        return capstone(number)
    except UnknownCapstone as error:
        raise click.UsageError(str(error)) from error


def exam(number: int, student: str | None) -> Exam:
    """A student's exam of a capstone, with the truth worked out (and not shown)."""
    from grader.capstone.draw import NothingDrawn, exam_of

    if student is not None and not (student.strip() and student.isprintable()):
        raise click.UsageError("--student: a name of characters that print")
    try:
        return exam_of(capstone_of(number), student)
    except NothingDrawn as error:
        raise click.ClickException(str(error)) from error


def attempts(number: int, student: str | None) -> Attempts:
    """What this student predicted so far."""
    from grader.capstone.attempts import Attempts
    from grader.places import places

    return Attempts(places().state, number, student)


def predictions_file(number: int, student: str | None) -> Path:
    """Where the predictions are filled in."""
    import re

    from grader.places import places

    named = "." + re.sub(r"[^\w-]", "_", student) if student else ""
    return places().home / "predictions" / f"{number}{named}.yaml"


def told(call: Any, *arguments: Any) -> Any:
    """A call whose file of attempts may be damaged: told in one line."""
    from grader.capstone.attempts import UnreadableAttempts

    try:
        return call(*arguments)
    except UnreadableAttempts as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}") from error
