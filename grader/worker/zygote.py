"""The process from which sessions are forked: it imports once what they all need.

It runs no line of a submission. It forks a session when told to, and ends it with everything that
the session left behind; when the trusted side is gone, it ends too.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import random
import resource
import signal
import socket
import sys
import time
from io import TextIOWrapper
from typing import NoReturn

from grader.worker.child import Child
from grader.worker.processes import adopt_orphans, kill_children, when_parent_dies
from grader.worker.wire import HEADER, Command, End, Ended, Fork, Ready, decode_command, framed

_GRACE = 0.2


class Zygote:
    """Carries out the commands that arrive on the control socket."""

    def __init__(self, control: int) -> None:
        self._control = socket.socket(fileno=control)
        self._session: int | None = None

    def run(self, preload: list[str]) -> NoReturn:
        """Import `preload`, then serve until the trusted side closes the socket."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        adopt_orphans()
        # Should a session have stopped this process, it goes on, sees the end and ends all.
        when_parent_dies(signal.SIGCONT)
        self._preload(preload)
        while True:
            command, descriptors = self._receive()
            if isinstance(command, Fork):
                self._fork(command, descriptors)
                self._control.sendall(framed(Ready([])))
            elif isinstance(command, End):
                self._control.sendall(framed(Ended(self._end(command.patient))))
            else:
                self._preload(command.names)

    def _receive(self) -> tuple[Command, list[int]]:
        # a command is far smaller than the socket's buffer and each one is answered: it comes whole
        data, descriptors, _, _ = socket.recv_fds(self._control, 1 << 16, 3)
        if not data:
            self._end(patient=False)
            os._exit(0)
        return decode_command(data[HEADER.size :]), descriptors

    def _preload(self, names: list[str]) -> None:
        missing = []
        for name in names:
            try:
                importlib.import_module(name)
            except ImportError:
                missing.append(name)
        gc.collect()
        gc.freeze()  # a collection in a session would otherwise copy every page
        self._control.sendall(framed(Ready(missing)))

    def _fork(self, command: Fork, descriptors: list[int]) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        self._session = os.fork()
        if self._session == 0:
            self._become_session(command, descriptors)
        with contextlib.suppress(OSError):
            os.setpgid(self._session, self._session)
        for descriptor in descriptors:
            os.close(descriptor)

    def _become_session(self, command: Fork, descriptors: list[int]) -> NoReturn:
        code = 70
        try:
            os.setpgid(0, 0)
            when_parent_dies(signal.SIGKILL)
            self._control.close()
            signal.signal(signal.SIGINT, signal.default_int_handler)
            reader, writer, printed = descriptors
            os.dup2(printed, 1)
            os.dup2(printed, 2)
            os.close(printed)
            _be_deterministic()
            child = Child(reader, writer, command.frame, command.depth)
            _limit(command)
            child.serve()
            code = 0
        finally:
            os._exit(code)

    def _end(self, patient: bool) -> int | None:
        """Kill the session's whole group and what escaped from it; how the session ended.

        None when it had not ended of itself.
        """
        if self._session is None:
            return None
        pid, self._session = self._session, None
        code = _wait(pid, _GRACE if patient else 0)
        with contextlib.suppress(OSError):
            os.killpg(pid, signal.SIGKILL)
        if code is None:
            os.waitpid(pid, 0)
        kill_children()  # those that left the session's group have become this one's
        return code


def _wait(pid: int, seconds: float) -> int | None:
    until = time.monotonic() + seconds
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > until:
            return None
        time.sleep(0.001)


def _be_deterministic() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(line_buffering=True, errors="backslashreplace")
    random.seed(0)  # Python itself reseeds from the system after a fork
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(0)


def _limit(command: Fork) -> None:
    def at_most(kind: int, amount: int | None) -> None:
        if amount is not None:
            _, hard = resource.getrlimit(kind)
            amount = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(kind, (amount, amount))

    at_most(resource.RLIMIT_CORE, 0)
    at_most(resource.RLIMIT_FSIZE, command.file_size)
    at_most(resource.RLIMIT_NOFILE, command.open_files)
    at_most(resource.RLIMIT_CPU, command.cpu_seconds)
    at_most(resource.RLIMIT_NPROC, command.processes)
    if command.memory is not None:
        at_most(resource.RLIMIT_AS, _address_space() + command.memory)


def _address_space() -> int:
    try:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
