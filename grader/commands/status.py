"""Bare `vllmlings`: where you are, what is next, what to type."""

from __future__ import annotations

import click

from grader.commands.common import the_learner


@click.command("status")
def command() -> None:
    """Where you are, what is next, what to type."""
    from grader.report.console import show
    from grader.report.course import status
    from grader.standing import standings

    learner = the_learner()
    all_standings = standings(learner.course, learner.progress, learner.places)
    show(status(all_standings, learner.places))
