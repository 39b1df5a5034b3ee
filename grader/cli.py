"""The command `vllmlings`. Each subcommand's module is imported only when it is called."""

from __future__ import annotations

import importlib
import os
import sys

import click

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


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"grader.commands.{cmd_name}")
        command = module.command
        if not isinstance(command, click.Command):
            raise TypeError(f"grader/commands/{cmd_name}.py: `command` is no click command")
        return command

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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        others = {"For teachers": FOR_TEACHERS, "For authors of lessons": FOR_AUTHORS}
        elsewhere = {name for names in others.values() for name in names}
        own = tuple(name for name in COMMANDS if name not in elsewhere)
        for title, names in ({"Commands": own} | others).items():
            with formatter.section(title):
                formatter.write_dl([(name, COMMANDS[name]) for name in names])


@click.group(
    cls=LazyGroup,
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


def main(args: list[str] | None = None) -> None:
    """The console script; a wrong use ends with 2 and one line on stderr, never a traceback."""
    try:
        code = group.main(args, standalone_mode=False)
    except click.UsageError as error:
        click.echo(f"vllmlings: {error.format_message()}", err=True)
        sys.exit(2)
    except click.ClickException as error:
        click.echo(f"vllmlings: {error.format_message()}", err=True)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("", err=True)
        sys.exit(130)
    except BrokenPipeError:
        # The reader (a pager, `head`) has gone; the interpreter must not flush into its pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    sys.exit(code if isinstance(code, int) else 0)
