"""The command `vllmlings`. What it takes is imported inside, where Ctrl-C is expected already."""

import os
import sys


def main(args: list[str] | None = None) -> None:
    """The console script; a wrong use ends with 2 and one line on stderr, never a traceback."""
    try:
        _open_standard_streams()
        from grader.command_group import run

        code = run(args)
    except KeyboardInterrupt:
        print(file=sys.stderr)
        code = 130
    sys.exit(code)


def _open_standard_streams() -> None:
    """What was closed (`>&-`) leads nowhere: a pipe must not get its number, and be printed to."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # it takes the lowest number that is free
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 (as long as the process)
