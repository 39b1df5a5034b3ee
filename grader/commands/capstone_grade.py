"""`vllmlings capstone grade`: predictions are locked in before anything is shown."""

from __future__ import annotations

from pathlib import Path

import click

from grader.commands.capstone_common import NUMBER, STUDENT, attempts, exam, predictions_file, told


@click.command("grade")
@NUMBER
@STUDENT
@click.option(
    "--predictions",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Another file than predictions/N.yaml.",
)
@click.option("--yes", is_flag=True, help="Do not ask before locking in.")
def command(number: int, student: str | None, file: Path | None, yes: bool) -> None:
    """Lock your predictions in, then see them beside the truth.

    The first attempt is the one that counts; later ones are graded, and kept apart.

    Exit code: 0 graded, 1 the predictions cannot be read, 2 wrong use.
    """
    from grader.capstone.grade import grade
    from grader.capstone.predictions import BadPredictions, read_predictions
    from grader.places import shown
    from grader.report.capstone.result import result_page
    from grader.report.console import make_console, show
    from grader.report.pager import in_terminal

    chosen = exam(number, student)
    path = file or predictions_file(number, student)
    if not path.is_file():
        raise click.UsageError(
            f"{shown(path)}: no such file; vllmlings capstone predict "
            f"{number}{f' --student {student}' if student else ''} writes it"
        )
    try:
        predictions = read_predictions(path, chosen)
    except BadPredictions as error:
        raise click.ClickException(str(error)) from error
    kept = attempts(number, student)
    left_open = [one.id for one in chosen.capstone.questions if one.id not in predictions.answers]
    if left_open and not told(kept.all):
        click.echo(f"Not answered: {', '.join(left_open)}", err=True)
        if in_terminal() and not yes and not click.confirm("Lock in all the same?"):
            return
    told(kept.lock_in, path.read_text(encoding="utf-8"))
    result = grade(chosen, predictions.answers)
    told(kept.settle, result.points, result.max_points)
    show(result_page(result, told(kept.all), make_console().width))
