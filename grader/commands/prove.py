"""`vllmlings prove`: that the suites accept what is right and reject what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from grader.lessons import Lesson, UnknownLesson, find, names
from manifest.course import load

if TYPE_CHECKING:
    from grader.prove.proof import Proof
    from manifest.symbols import Source, Symbol


@click.command("prove")
@click.argument("name", metavar="[LESSON|TOPIC]", required=False)
@click.option("--all", "everything", is_flag=True, help="Every lesson (also when none is named).")
@click.option("--oracle", is_flag=True, help="Grade the real vLLM too.")
@click.option("--json", "as_json", is_flag=True, help="The proofs as a list in JSON.")
@click.option("--fresh", is_flag=True, help="Try everything anew, whatever is remembered.")
@click.option("--jobs", type=click.IntRange(1), help="Processes.  [default: one for each core]")
@click.option(
    "--write-symbols", is_flag=True, help="First note the cited symbols, from the oracle's source."
)
@click.pass_context
def command(
    ctx: click.Context,
    name: str | None,
    everything: bool,
    oracle: bool,
    as_json: bool,
    fresh: bool,
    jobs: int | None,
    write_symbols: bool,
) -> None:
    """Prove LESSON, or all of a TOPIC, or everything.

    Of each lesson: the stub fails and is what the solution cuts to, the solution and all
    alternatives pass, every mutant fails, the real vLLM passes (--oracle), the text is complete.

    Exit code: 0 all of it holds, 1 something falls short, 2 wrong use.
    """
    if everything and name is not None:
        raise click.UsageError(f"--all and {name}: give one of them")
    lessons = _chosen(name)
    if write_symbols:
        _write_symbols()
    proofs = _proofs(lessons, oracle, fresh, jobs)
    if as_json:
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode(proofs)).decode())
    else:
        from grader.report.console import show
        from grader.report.prove import proofs_page, shortfall_lines

        show(proofs_page(proofs))
        for line in shortfall_lines(proofs):
            click.echo(line)
    ctx.exit(0 if all(proof.holds for proof in proofs) else 1)


def _chosen(name: str | None) -> list[Lesson]:
    """The lessons that are meant, in the course's order; those without a place in it last."""
    order = [lesson.path for lesson in load()]
    there = sorted({*names(), *(lesson.path for lesson in load().written)})
    there.sort(key=lambda path: order.index(path) if path in order else len(order))
    if name is None:
        return [Lesson(path) for path in there]
    inside = [Lesson(path) for path in there if path.startswith(f"{name.strip('/')}/")]
    try:
        return inside or [find(name)]
    except UnknownLesson as error:
        raise click.UsageError(str(error)) from error


def _proofs(lessons: Sequence[Lesson], oracle: bool, fresh: bool, jobs: int | None) -> list[Proof]:
    from grader.oracle.environment import OracleMissing
    from grader.prove.prover import prove
    from grader.prove.tried import default_jobs
    from grader.report.waiting import waiting

    try:
        find_symbol = _finder(oracle)
        with waiting("Proving") as progress:
            return prove(
                lessons, find_symbol, oracle, fresh, jobs or default_jobs(), progress.advance
            )
    except OracleMissing as error:
        raise click.ClickException(str(error)) from error


def _finder(oracle: bool) -> Callable[[str], Symbol | None]:
    """Finds a symbol in the source of the real vLLM, or in the list of symbols without it."""
    from manifest import symbols

    return _source().find if oracle else symbols.load().get


def _source() -> Source:
    from grader.oracle.environment import site_packages
    from manifest.pins import load
    from manifest.release import FolderRelease
    from manifest.symbols import Source

    return Source(FolderRelease(site_packages(), load().version))


def _write_symbols() -> None:
    """Note the symbols that the course cites."""
    from grader.files import write_atomically
    from grader.oracle.environment import OracleMissing
    from manifest import symbols
    from manifest.cited import cited
    from manifest.noting import note

    try:
        noted = note(symbols.load(), _source(), cited(), only=True)
    except OracleMissing as error:
        raise click.ClickException(str(error)) from error
    write_atomically(symbols.SYMBOLS_FILE, symbols.dump(noted.symbols.values()))
    symbols.load.cache_clear()
