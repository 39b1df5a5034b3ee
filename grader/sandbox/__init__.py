"""What is put around a worker where submissions may be hostile.

    launcher = choose("bubblewrap")
    Interpreter(launcher=launcher, limits=SEALED)

A sandbox is a `Launcher`: it turns the command that starts a worker into one that starts it
confined. Another one (a container, another system) is one class here and a line in `choose`.
"""

from __future__ import annotations

from typing import Literal

from grader.sandbox.bubblewrap import Bubblewrap
from grader.sandbox.errors import SandboxMissing
from grader.worker import BareLauncher, Launcher, Limits
from grader.worker.limits import MIB

Sandbox = Literal["bubblewrap", "none"]

#: What a submission may use where nobody vouches for it.
SEALED = Limits(
    memory=1024 * MIB,
    file_size=MIB,
    open_files=32,
    cpu_seconds=60,
    processes=16,
    frame=8 * MIB,
)


def choose(sandbox: Sandbox) -> Launcher:
    """The launcher of that name.

    Raises:
        SandboxMissing: it does not work here; the error says why, and what helps.
    """
    if sandbox == "none":
        return BareLauncher()
    launcher = Bubblewrap()
    launcher.try_out()
    return launcher


__all__ = ["SEALED", "Bubblewrap", "Sandbox", "SandboxMissing", "choose"]
