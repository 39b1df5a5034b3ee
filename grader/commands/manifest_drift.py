"""`vllmlings manifest drift`: what another release has changed in what the course cites."""

from __future__ import annotations

import json
import time
from dataclasses import asdict

import click


@click.command("drift")
@click.option("--to", "version", metavar="RELEASE", help="The newest release, unless it is named.")
@click.option("--all", "everything", is_flag=True, help="Show also what runs as before.")
@click.option("--json", "as_json", is_flag=True, help="All of it as data.")
@click.option("--markdown", is_flag=True, help="As the text of an issue.")
def command(version: str | None, everything: bool, as_json: bool, markdown: bool) -> None:
    """Compare what the course cites with another release of vLLM.

    Only the files that the course cites are read, in parts of the wheel.
    """
    from grader.report.console import make_console, show
    from grader.report.drift import drift_markdown, drift_page
    from manifest.drift import compare_releases
    from manifest.errors import SourceError

    started = time.monotonic()
    with make_console(stderr=True).status("Reading both releases…"):
        try:
            drift = compare_releases(version)
        except SourceError as error:
            raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(json.dumps(asdict(drift), indent=2, default=str))
    elif markdown:
        click.echo(drift_markdown(drift))
    else:
        show(drift_page(drift, everything, time.monotonic() - started))
