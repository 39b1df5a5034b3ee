"""What is put around a worker: nothing, or a sandbox."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Launcher(Protocol):
    """Turns the command that starts a worker into the one that starts it confined.

    Descriptors must be passed on. `start.py` and the modules beside it must be readable inside,
    and so must the interpreter; a submission need not be, its source is sent.
    """

    def command(self, argv: Sequence[str]) -> list[str]: ...


class BareLauncher:
    """Starts the worker as it is.

    >>> BareLauncher().command(["python", "start.py"])
    ['python', 'start.py']
    """

    def command(self, argv: Sequence[str]) -> list[str]:
        return list(argv)
