"""The subcommands, each imported when it is called, and the exit code that a call comes to."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from grader.commands.parts import LazyParts

COMMANDS = {
    "status": "Where you are, what is next, what to type.",
    "list": "All topics and lessons, and how far you are.",
    "read": "A lesson's text, in the terminal.",
    "grade": "Check an exercise and show the verdict.",
    "watch": "Check an exercise each time you save it.",
    "hint": "A hint for a lesson, one step further each time.",
    "reset": "Put a lesson's stub back; your work is kept.",
    "solution": "A lesson's solution, after a pass.",
    "diff": "Your work beside the solution, after a pass.",
    "source": "vLLM's own code of what a lesson cites, or of any file.",
    "glossary": "Every term in one line, and the lesson that teaches it.",
    "engine": "Run the engine on a workload and show its steps.",
    "capstone": "Real pull requests: predict in numbers what they do.",
    "demo": "A look at everything, with nothing filled in.",
    "doctor": "What works on this machine, and how to get what is missing.",
    "oracle": "Install and run the real vLLM to compare with.",
    "stubs": "Write the exercises' stubs from the solutions.",
    "prove": "Prove that the suites accept what is right and reject what is wrong.",
    "classroom": "Grade a class: in a sandbox, into nbgrader's gradebook.",
    "manifest": "What the course cites of vLLM: check it, compare it with another release.",
}
FOR_TEACHERS = ("classroom",)
FOR_AUTHORS = ("oracle", "stubs", "prove", "manifest")


class ReaderGone(Exception):
    """Whoever read the output has gone: a pager, `head`."""


class Commands(LazyParts):
    """All commands; a name that is none gets the nearest one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            import difflib

            near = difflib.get_close_matches(name, COMMANDS, n=1)
            guess = f"did you mean {near[0]}?" if near else "see vllmlings --help"
            raise click.UsageError(f"{name}: no such command; {guess}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise ReaderGone from None  # of the other click makes a 1, which says "not passed"

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        others = {"For teachers": FOR_TEACHERS, "For authors of lessons": FOR_AUTHORS}
        elsewhere = {name for names in others.values() for name in names}
        own = tuple(name for name in COMMANDS if name not in elsewhere)
        for title, names in ({"Commands": own} | others).items():
            with formatter.section(title):
                formatter.write_dl([(name, COMMANDS[name]) for name in names])


@click.group(
    cls=Commands,
    parts=COMMANDS,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("--version", is_flag=True, help="The course's version and the release it is read at.")
@click.pass_context
def group(ctx: click.Context, version: bool) -> None:
    """Learn how vLLM works inside by building its mechanisms.

    Without a command: where you are, what is next, what to type.
    """
    if version:
        click.echo(_version())
        ctx.exit()
    if ctx.invoked_subcommand is None:
        from grader.commands.status import command as status

        ctx.invoke(status)


def _version() -> str:
    from importlib.metadata import version

    from manifest import pins

    return f"vllmlings {version('vllmlings')}, pinned to vLLM {pins.load().version}"


def run(args: list[str] | None = None) -> int:
    """Carry out a command line; whatever is wrong is one line on stderr, never a traceback.

    Exit codes: those of the commands; 2 for a wrong use, 130 for Ctrl-C, 141 for a reader that has
    gone, 1 for a file of the course or an output that fails.
    """
    try:
        code = group.main(args, prog_name="vllmlings", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        return _failed(error.format_message(), error.exit_code)
    except click.Abort:
        raise KeyboardInterrupt from None
    except (ReaderGone, BrokenPipeError):
        _drop_output()
        return 141
    except OSError as error:
        if error.filename is None:
            _drop_output()
        return _failed(_words(error))
    except Exception as error:
        # Imported here: a command that comes to nothing of the kind needs neither.
        from grader.lessons import UnknownLesson
        from manifest.course import MalformedCourse

        if isinstance(error, MalformedCourse | UnknownLesson):
            return _failed(str(error))
        raise
    return code if isinstance(code, int) else 0


def _failed(message: str, code: int = 1) -> int:
    click.echo(f"vllmlings: {message}", err=True)
    return code


def _words(error: OSError) -> str:
    if error.filename is None:
        return f"the output cannot be written: {error.strerror or error}"
    from grader.lessons import ROOT
    from grader.source import printable

    file = Path(os.fsdecode(error.filename))
    said = f"{printable(file)}: {error.strerror}"
    if isinstance(error, FileNotFoundError) and file.is_relative_to(ROOT):
        own = file.relative_to(ROOT)
        return f"{said}; it belongs to the course: `git checkout -- {own}` puts it back"
    return said


def _drop_output() -> None:
    """Nothing must be written any more, not even what the interpreter still holds at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
