"""`vllmlings engine`: a workload's steps, on the reference engine or on the learner's parts."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.commands.common import the_learner
from grader.learner import Learner

if TYPE_CHECKING:
    from grader.my_engine import OwnParts
    from reference.trace import Trace
    from reference.workload import Workload

STEPS = 60


@click.command("engine")
@click.argument("workload", required=False)
@click.option(
    "--set",
    "changes",
    metavar="KEY=VALUE",
    multiple=True,
    help="Change the workload for this run: engine.block_size=8, requests.a.priority=1.",
)
@click.option("--mine", is_flag=True, help="Run on your own parts, those that have passed.")
@click.option("--follow", metavar="REQUEST", help="Tell the way of one request, place by place.")
@click.option("--processes", is_flag=True, help="Run front and core in two processes over ZMQ.")
@click.option("--json", "as_json", is_flag=True, help="The trace as JSON.")
@click.option("--steps", default=STEPS, type=click.IntRange(1), help="Show so many steps at most.")
def command(
    workload: str | None,
    changes: tuple[str, ...],
    mine: bool,
    follow: str | None,
    processes: bool,
    as_json: bool,
    steps: int,
) -> None:
    """Run the engine on WORKLOAD and show its steps and its block pool.

    WORKLOAD is a YAML file, or the name of one in exercises/workloads; without it, those are
    listed.
    """
    from grader.workloads import read_workload
    from reference.workload import WorkloadError

    learner = the_learner()
    if workload is None:
        _list(learner)
        return
    path = _workload_file(learner, workload)
    try:
        chosen = read_workload(path, changes)
    except WorkloadError as error:
        raise click.UsageError(str(error)) from error
    if follow is not None or processes:
        _run_front(chosen, follow)
        return
    if chosen.needs_front and not mine:
        _show_with_text(chosen, as_json, steps)
        return
    trace, parts = _run_mine(learner, chosen) if mine else (_run(chosen), None)
    if as_json:
        click.echo(json.dumps(trace.to_dict(), indent=1))
        return
    from grader.report.console import make_console, show
    from grader.report.engine import engine_page

    show(engine_page(chosen, trace, parts, make_console().width, steps))


def _run_front(workload: Workload, request_id: str | None) -> None:
    """What `--follow` and `--processes` show."""
    from grader.report.console import show
    from reference.llm_engine import CannotServe

    try:
        if request_id is None:
            from grader.processes.run import NoProcesses, run_in_processes
            from grader.report.processes import processes_page

            try:
                show(processes_page(workload, run_in_processes(workload)))
            except NoProcesses as error:
                raise click.ClickException(str(error)) from error
            return
        from grader.following import UnknownRequest
        from grader.following import follow as follow_request
        from grader.report.follow import follow_page

        try:
            show(follow_page(workload, follow_request(workload, request_id)[0]))
        except UnknownRequest as error:
            raise click.UsageError(str(error)) from error
    except CannotServe as error:
        raise click.UsageError(str(error)) from error


def _show_with_text(workload: Workload, as_json: bool, steps: int) -> None:
    """A run whose requests ask for more than the engine core knows of."""
    from rich.console import Group

    from grader.report.console import make_console, show
    from grader.report.engine import engine_page
    from grader.report.shown import shown_text
    from reference.llm_engine import CannotServe, LLMEngine

    try:
        engine = LLMEngine(workload)
    except CannotServe as error:
        raise click.UsageError(str(error)) from error
    trace = engine.run()
    if as_json:
        click.echo(json.dumps(trace.to_dict(), indent=1))
        return
    page = engine_page(engine.core_workload, trace, None, make_console().width, steps)
    show(Group(page, "", shown_text(engine.front.shown)))


def _list(learner: Learner) -> None:
    from grader.report.console import show
    from grader.report.workloads import workload_list
    from grader.workloads import headline

    files = sorted(learner.places.workloads.glob("*.yaml"))
    show(workload_list([(file.stem, headline(file)) for file in files]))


def _run(workload: Workload) -> Trace:
    from grader.report.waiting import waiting
    from reference.engine import run_workload

    with waiting(f"Running {workload.name}"):
        return run_workload(workload)


def _run_mine(learner: Learner, workload: Workload) -> tuple[Trace, OwnParts]:
    from grader.my_engine import NoParts, PartFailed, run_on_own_parts
    from grader.report.waiting import waiting

    try:
        with waiting(f"Running {workload.name}"):
            return run_on_own_parts(learner, workload)
    except NoParts as error:
        raise click.UsageError(str(error)) from error
    except PartFailed as error:
        raise click.ClickException(str(error)) from error


def _workload_file(learner: Learner, name: str) -> Path:
    """The file of that path, or of that name among the course's workloads."""
    path = Path(name)
    if path.is_file():
        return path
    folder = learner.places.workloads
    named = folder / (name if name.endswith(".yaml") else f"{name}.yaml")
    if named.is_file() and named.parent == folder:
        return named
    known = sorted(file.stem for file in folder.glob("*.yaml"))
    near = difflib.get_close_matches(path.stem, known, n=1)
    guess = f"did you mean {near[0]}?" if near else "vllmlings engine lists those there are"
    raise click.UsageError(f"{name}: no such workload; {guess}")
