"""`vllmlings doctor`: what works on this machine."""

from __future__ import annotations

import json
from dataclasses import asdict

import click


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Try what the course needs on this machine, and say how to get what is missing.

    Exits with 1 when something is missing that a learner needs.
    """
    from grader.doctor import examine
    from grader.report.console import show
    from grader.report.doctor import finding_line, verdict_line

    findings = []
    for finding in examine():
        findings.append(finding)
        if not as_json:
            show(finding_line(finding))
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        show(verdict_line(findings))
    if any(not finding.works and finding.audience == "learner" for finding in findings):
        ctx.exit(1)
