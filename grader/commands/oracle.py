"""`vllmlings oracle`: install the real vLLM, record its traces, compare the engines on it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.progress import Progress

DEFAULT_EXAMPLES = 200


@click.group("oracle")
def oracle() -> None:
    """The real vLLM, on a CPU: what the reference engine is compared with."""


@oracle.command()
@click.option("--force", is_flag=True, help="Remove the environment and start afresh.")
@click.option(
    "--python", default=sys.executable, show_default="this one", help="The Python to build it with."
)
@click.option(
    "--directory",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where to install it.  [default: .oracle in the repo, or VLLMLINGS_ORACLE]",
)
def install(force: bool, python: str, directory: Path | None) -> None:
    """Make the environment that holds the real vLLM (about 3.4 GB)."""
    from grader.oracle.install import InstallFailed
    from grader.oracle.install import install as install_oracle

    try:
        install_oracle(directory, force=force, python=python)
    except InstallFailed as error:
        raise click.ClickException(str(error)) from error


@oracle.command()
@click.argument(
    "workloads",
    nargs=-1,
    required=True,
    metavar="WORKLOAD...",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
)
def record(workloads: tuple[Path, ...]) -> None:
    """Run each WORKLOAD file on the real scheduler; write its trace beside it."""
    from grader.oracle.record import record as record_trace
    from grader.oracle.session import real_engine
    from grader.workloads import read_workload
    from reference.workload import WorkloadError

    try:
        for workload in workloads:
            read_workload(workload)
    except WorkloadError as error:
        raise click.UsageError(str(error)) from error
    with _failing_plainly(), _progress() as progress:
        task = progress.add_task("importing vLLM", total=len(workloads))
        with real_engine() as real:
            for workload in workloads:
                progress.update(task, description=workload.stem)
                record_trace(workload, real)
                progress.advance(task)
            progress.update(task, description="recorded")


@oracle.command()
@click.option(
    "--examples",
    default=DEFAULT_EXAMPLES,
    show_default=True,
    type=click.IntRange(1),
    help="How many workloads to draw.",
)
@click.option("--seed", default=0, show_default=True, help="What they are drawn from.")
@click.option(
    "--jobs",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="Processes; each draws its share from a seed of its own.",
)
@click.pass_context
def diff(ctx: click.Context, examples: int, seed: int, jobs: int) -> None:
    """Draw workloads, run both engines, compare every step. Exit 1 where they differ."""
    from grader.oracle.jobs import diff_in_jobs
    from grader.oracle.render import print_report
    from grader.report.console import make_console

    with _failing_plainly(), _progress() as progress:
        task = progress.add_task("importing vLLM", total=examples)

        def show(done: int, shrinking: bool) -> None:
            step = "shrinking a disagreement" if shrinking else "comparing"
            progress.update(task, description=step, completed=done)

        report = diff_in_jobs(examples, seed, jobs, show)
    print_report(report, make_console())
    if not report.agrees:
        ctx.exit(1)


@oracle.command()
@click.argument("kinds", nargs=-1, metavar="[PART]...")
@click.option(
    "--examples",
    default=DEFAULT_EXAMPLES,
    show_default=True,
    type=click.IntRange(1),
    help="How many scripts to draw for each part.",
)
@click.option("--seed", default=0, show_default=True, help="What they are drawn from.")
@click.option(
    "--record",
    "folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Write down what vLLM makes of them in this folder; compare nothing.",
)
@click.pass_context
def front(
    ctx: click.Context, kinds: tuple[str, ...], examples: int, seed: int, folder: Path | None
) -> None:
    """Compare the engine's front with vLLM's own classes, part by part, on drawn scripts.

    PARTS are detokenizer, output_processor, input_processor and engine_core; all without any.
    """
    from grader.oracle.front.differential import diff_front
    from grader.oracle.front.record import record_front
    from grader.oracle.front.strategies import SCRIPTS
    from grader.oracle.render import front_line
    from grader.oracle.session import real_front

    unknown = [kind for kind in kinds if kind not in SCRIPTS]
    if unknown:
        raise click.UsageError(f"{unknown[0]}: no such part; there are {', '.join(SCRIPTS)}")
    agrees = True
    with _failing_plainly(), real_front() as real:
        for kind in kinds or SCRIPTS:
            if folder is not None:
                click.echo(record_front(kind, examples, seed, real, folder))
                continue
            report = diff_front(kind, examples, seed, real)
            agrees = agrees and report.disagreement is None
            click.echo(front_line(report))
    if not agrees:
        ctx.exit(1)


@contextmanager
def _progress() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        yield progress


@contextmanager
def _failing_plainly() -> Iterator[None]:
    """The oracle's own troubles as one message."""
    from grader.oracle.environment import OracleMissing
    from grader.oracle.jobs import JobFailed
    from grader.worker import WorkerError
    from grader.worker.host import WorkerNotStarted

    try:
        yield
    except (OracleMissing, WorkerError, WorkerNotStarted, JobFailed) as error:
        raise click.ClickException(str(error)) from error


command = oracle
