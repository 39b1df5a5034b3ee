"""`vllmlings list`: the course in order."""

from __future__ import annotations

import click

from grader.commands.common import the_learner


@click.command("list")
@click.argument("topic", required=False)
@click.option("--all", "everything", is_flag=True, help="With every lesson that is still to come.")
def command(topic: str | None, everything: bool) -> None:
    """All topics and lessons, and how far you are; with a TOPIC, that one in full."""
    from grader.report.console import show
    from grader.report.course import course_list
    from grader.standing import standings

    learner = the_learner()
    topics = learner.course.topics
    if topic is not None:
        found = learner.course.topic(topic)
        if found is None:
            names = ", ".join(one.name for one in topics)
            raise click.UsageError(f"{topic}: no such topic; there are {names}")
        topics, everything = (found,), True
    all_standings = standings(learner.course, learner.progress, learner.places)
    show(course_list(topics, all_standings, everything))
