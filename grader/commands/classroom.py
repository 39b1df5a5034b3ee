"""`vllmlings classroom`: grading a class. Each part is imported when called."""

from __future__ import annotations

import importlib

import click

PARTS = {
    "init": "An nbgrader course from the lessons.",
    "release": "What your students get: texts and stubs, as a folder and a zip.",
    "grade": "Grade what a class has handed in, and fill its gradebook.",
    "report": "What a class, or a student, has come to.",
    "gradescope": "An autograder for Gradescope.",
    "workflow": "A GitHub workflow that grades what is handed in as pull requests.",
}


class LazyParts(click.Group):
    """Knows its parts by name; `classroom NAME` is `command` in `classroom_NAME.py`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        return list(PARTS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in PARTS:
            return None
        command = importlib.import_module(f"grader.commands.classroom_{cmd_name}").command
        if not isinstance(command, click.Command):
            raise TypeError(f"grader/commands/classroom_{cmd_name}.py: `command` is no command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(PARTS.items()))


@click.group("classroom", cls=LazyParts)
def command() -> None:
    """Grade a class: files and notebooks in COURSE/submitted/STUDENT/TOPIC/LESSON.py or .ipynb.

    COURSE/classroom.yaml, which need not be there, may name the lessons or topics of the class
    (`lessons: [kv_cache]`), when a topic is due (`due: {kv_cache: 2027-01-31}`, for topics whose
    folders have nbgrader's timestamp.txt), nbgrader's late penalty (`late: zero`) and its
    `course_id`.
    """
