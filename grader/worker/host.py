"""Starts workers, has them fork sessions, and ends both."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import NoReturn

from grader.worker import wire
from grader.worker.launcher import BareLauncher, Launcher
from grader.worker.limits import Limits
from grader.worker.link import BadFrame, Ended, Expired, Link
from grader.worker.printed import Printed
from grader.worker.session import Session

PRELOAD = (
    "abc",
    "array",
    "bisect",
    "collections",
    "contextlib",
    "copy",
    "dataclasses",
    "enum",
    "functools",
    "hashlib",
    "heapq",
    "inspect",
    "itertools",
    "json",
    "math",
    "operator",
    "random",
    "struct",
    "typing",
)
_START = Path(__file__).with_name("start.py")
_START_SECONDS = 120.0
_COMMAND_SECONDS = 5.0
_IMPORTS_NUMPY = re.compile(rb"^\s*(?:import|from)\s+numpy\b", re.MULTILINE)
_KEPT_VARIABLES = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH")
_OWN_VARIABLES = {
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}


class WorkerNotStarted(RuntimeError):
    """The interpreter cannot run a worker; `printed` says why. Not the submission's doing."""

    def __init__(self, python: str, printed: str) -> None:
        super().__init__(
            f"{python} cannot run a worker: {printed.strip() or 'it ended without a word'}\n"
            "It needs Python 3.11 or newer with msgspec installed."
        )
        self.python = python
        self.printed = printed


class Worker:
    """A process that forks a fresh session for each `with worker.session() as session:`.

    It starts at once and imports `preload` while the caller goes on. One session at a time.
    `python` is the interpreter that submissions run in; `environment` is added to the few
    variables that they get to see. Raises WorkerNotStarted from `session` or `load`.
    """

    def __init__(
        self,
        python: str = sys.executable,
        preload: Sequence[str] = PRELOAD,
        limits: Limits | None = None,
        launcher: Launcher | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._python = os.path.abspath(python) if os.sep in python else python
        self._preload = list(preload)
        self._limits = limits or Limits()
        self._launcher = launcher or BareLauncher()
        self._environment = dict(environment or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._is_ready = False
        self._busy = False
        self._start()

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """The worker's process, from which sessions are forked; None when it does not run."""
        return None if self._process is None else self._process.pid

    def session(self, deadline: float = 5.0) -> Session:
        """A session whose process starts with the first `load`; each call has `deadline` seconds.

        >>> with Worker() as worker, worker.session() as session:
        ...     lesson = session.load("solutions/kv_cache/block_pool.py", "block_pool")
        ...     lesson.BlockPool(8).get_new_blocks(3)
        [1, 2, 3]
        """
        return Session(self, deadline, self._limits)

    def close(self) -> None:
        """End the worker and its session."""
        if self._busy:
            self.end(patient=False)
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self._control.close()
        self._own_output.close()

    # For the session

    def begin(self, source: bytes) -> Link:
        """Fork a session, in which `source` will be loaded."""
        if self._busy:
            raise RuntimeError("a worker has one session at a time: close the first one")
        self._make_ready()
        if _IMPORTS_NUMPY.search(source) and "numpy" not in self._preload:
            self._preload.append("numpy")
            self._command(wire.Preload(["numpy"]), seconds=_START_SECONDS)
        (theirs_in, ours_out), (ours_in, theirs_out), (printed, theirs_printed) = (
            os.pipe(),
            os.pipe(),
            os.pipe(),
        )
        limits = self._limits
        link = Link(ours_in, ours_out, Printed(printed, limits.printed), limits.frame)
        fork = wire.Fork(
            limits.memory,
            limits.file_size,
            limits.open_files,
            limits.cpu_seconds,
            limits.processes,
            limits.frame,
            limits.depth,
        )
        theirs = [theirs_in, theirs_out, theirs_printed]
        try:
            self._command(fork, theirs)
        except BaseException:
            link.close()
            raise
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        self._busy = True
        return link

    def end(self, patient: bool) -> int | None:
        """End the session; how it ended, if it had ended of itself."""
        self._busy = False
        try:
            status = self._command(wire.End(patient))
        except WorkerNotStarted:
            return None  # the submission took the worker down with it; the next session restarts it
        return status.code if isinstance(status, wire.Ended) else None

    def _make_ready(self) -> None:
        """Wait until the worker has started; start it anew if a submission has ended it."""
        if self._process is None:
            self._start()
        if not self._is_ready:
            self._is_ready = True
            self._status(_START_SECONDS)

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        output, theirs_output = os.pipe()
        same = self._python == os.path.abspath(sys.executable)
        # The packages of this very interpreter are named to it, which spares it `site` and keeps
        # what is installed as editable, such as this repository, out of a submission's sight.
        flags = ["-P", "-s", "-S"] if same else ["-P", "-s"]
        paths = [path for path in sys.path if path.endswith("-packages")] if same else []
        arguments = [str(theirs.fileno()), os.pathsep.join(paths), ",".join(self._preload)]
        kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        with theirs, open(theirs_output, "wb") as printed:
            self._process = subprocess.Popen(
                self._launcher.command([self._python, *flags, str(_START), *arguments]),
                cwd=tempfile.gettempdir(),
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                pass_fds=[theirs.fileno()],
                env=kept | _OWN_VARIABLES | self._environment,
                start_new_session=True,
            )
        self._own_output = Printed(output, self._limits.printed)
        self._control = ours
        self._is_ready = False

    def _command(
        self, command: wire.Command, descriptors: Sequence[int] = (), seconds: float | None = None
    ) -> wire.Ready | wire.Ended:
        try:
            socket.send_fds(self._control, [wire.framed(command)], list(descriptors))
        except OSError:
            self._give_up()
        return self._status(seconds or _COMMAND_SECONDS)

    def _status(self, seconds: float) -> wire.Ready | wire.Ended:
        link = Link(self._control.fileno(), self._control.fileno(), self._own_output, 1 << 16)
        try:
            return wire.decode_status(link.receive(monotonic() + seconds))
        except (Expired, Ended, BadFrame, ValueError):
            self._give_up()
        except BaseException:
            self.close()  # its answer would be taken for that to the next command
            raise

    def _give_up(self) -> NoReturn:
        self.close()
        raise WorkerNotStarted(self._python, self._own_output.text)
