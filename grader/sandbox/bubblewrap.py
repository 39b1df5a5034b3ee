"""The sandbox of Debian's package `bubblewrap`.

A worker in it has no network, namespaces of its own (user, pid, ipc, uts, network, cgroup), no
capability, and a read-only view of the system in which the home and /tmp are empty. It dies with
whoever started it.

Where the grader itself runs as root, as in most containers, a first bwrap makes the view, and a
second one enters it with the id of a user that exists nowhere: a limit on processes does not bind
root, and root inside would be root outside.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from grader.sandbox.errors import SandboxMissing
from grader.sandbox.view import View, view_of

_NAMESPACES = (
    *("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"),
    *("--unshare-cgroup-try", "--disable-userns"),
)
_STRANGERS = 1 << 30
_TRY_SECONDS = 20


class Bubblewrap:
    """Starts workers confined; the name of the host inside is `sandbox`.

    >>> Bubblewrap("bwrap").command(["/usr/bin/python3", "start.py"])[-2:]
    ['/usr/bin/python3', 'start.py']
    """

    def __init__(self, bwrap: str | None = None) -> None:
        self._bwrap = bwrap or shutil.which("bwrap")
        self._setpriv = shutil.which("setpriv")
        self._is_root = os.geteuid() == 0

    @cached_property
    def _view(self) -> View:
        return view_of(sys.executable)

    def command(self, argv: Sequence[str]) -> list[str]:
        """The command that runs `argv` confined.

        Raises:
            SandboxMissing: a program that it needs is not installed.
        """
        if self._bwrap is None:
            raise SandboxMissing("bwrap is not installed", "apt-get install bubblewrap")
        if not self._is_root:
            return [*self._inner([], self._view), *argv]
        if self._setpriv is None:
            raise SandboxMissing("setpriv is not installed", "apt-get install util-linux")
        stranger = str(_STRANGERS + secrets.randbelow(_STRANGERS))
        return [
            *(self._bwrap, "--die-with-parent", *self._view.arguments(), "--dir", "/tmp"),
            # A fresh /proc can only be mounted in the second one where a whole one is in sight.
            *("--bind", "/proc", "/proc", "--dev", "/dev", "--"),
            *(self._setpriv, "--reuid", stranger, "--regid", stranger, "--clear-groups"),
            *("--inh-caps=-all", "--no-new-privs", "--"),
            *self._inner(["--ro-bind", "/", "/"], self._view.below(Path("/tmp"))),
            *argv,
        ]

    def _inner(self, root: list[str], view: View) -> list[str]:
        # What is shown below /tmp, should the course lie there, comes after it is emptied.
        assert self._bwrap is not None
        return [
            *(self._bwrap, "--die-with-parent", *_NAMESPACES, "--hostname", "sandbox"),
            *("--cap-drop", "ALL", *root, "--tmpfs", "/tmp", *view.arguments()),
            *("--proc", "/proc", "--dev", "/dev", "--remount-ro", "/tmp", "--remount-ro", "/dev"),
            *("--setenv", "HOME", "/tmp", "--setenv", "TMPDIR", "/tmp", "--chdir", "/tmp", "--"),
        ]

    def try_out(self) -> None:
        """Start an interpreter in the sandbox.

        Raises:
            SandboxMissing: it cannot be started.
        """
        try:
            done = subprocess.run(
                self.command([sys.executable, "-I", "-S", "-c", "print('inside')"]),
                capture_output=True,
                text=True,
                timeout=_TRY_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise SandboxMissing("bwrap does not come to an end", "see vllmlings doctor") from None
        if done.returncode or done.stdout != "inside\n":
            said = (done.stderr.strip().splitlines() or ["it ended without a word"])[-1]
            raise SandboxMissing(said, _remedy(said))


def _remedy(said: str) -> str:
    if "namespace" in said or "Operation not permitted" in said or "uid map" in said:
        return (
            "allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, in a container "
            "--security-opt seccomp=unconfined --security-opt systempaths=unconfined)"
        )
    return "run vllmlings doctor and see that bubblewrap is of release 0.8 or newer"
