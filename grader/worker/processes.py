"""What a system offers against processes that nobody waits for any more; nothing, if not Linux."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def when_parent_dies(number: int) -> None:
    """Have this process get a signal as soon as the thread that started it is gone."""
    _prctl(_PR_SET_PDEATHSIG, number)


def adopt_orphans() -> None:
    """From now on, descendants that lose their parent become this process's children."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def kill_children() -> None:
    """End all children of this process, and those that become its children by that."""
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0]:
                continue
            with open(f"/proc/self/task/{os.getpid()}/children") as children:
                pids = [int(pid) for pid in children.read().split()]
        except (ChildProcessError, OSError):
            return
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.001)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
