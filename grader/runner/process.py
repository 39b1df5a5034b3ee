"""Forked processes and the channel to each: whole messages, in order, over a socket pair."""

import contextlib
import math
import os
import select
import signal
import socket
import struct
import time
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from grader.worker.processes import when_parent_dies

#: Seconds after which whoever waits looks whether there is a reason to wait on.
LOOK_EVERY = 0.1
_PATIENCE = 3.0
_HEADER = struct.Struct("<I")
_ours: "weakref.WeakSet[socket.socket]" = weakref.WeakSet()


class Closed(Exception):
    """The process at the other end is gone."""


class Silent(Exception):
    """The process at the other end has not said anything for ``seconds``."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"it said nothing for {seconds:g} s")
        self.seconds = seconds


def wait_on() -> None:
    """What most do while they wait: nothing."""


class Channel:
    """One end of a two-way connection that carries whole messages."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._readable = select.poll()
        self._readable.register(end, select.POLLIN)

    def fileno(self) -> int:
        return self._end.fileno()

    def send(self, message: bytes) -> None:
        """Send a message.

        Raises:
            Closed: nobody is there to read it.
        """
        try:
            self._end.sendall(_HEADER.pack(len(message)) + message)
        except OSError as error:
            raise Closed from error

    def receive(self, seconds: float = math.inf, look: Callable[[], None] = wait_on) -> bytes:
        """Wait for a message; ``look`` is called again and again meanwhile, and may raise.

        Raises:
            Closed: the other end closed, or died in the middle of a message.
            Silent: nothing came for so many seconds.
        """
        (length,) = _HEADER.unpack(self._exactly(_HEADER.size, seconds, look))
        return self._exactly(length, seconds, look)

    def finish(self) -> None:
        """Send nothing more: at which the other end ends."""
        with contextlib.suppress(OSError):
            self._end.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._end.close()

    def _exactly(self, size: int, seconds: float, look: Callable[[], None]) -> bytes:
        received = bytearray()
        while len(received) < size:
            if math.isfinite(seconds) or look is not wait_on:
                self._wait(seconds, look)
            try:
                with interruptible():
                    part = self._end.recv(size - len(received))
            except OSError as error:
                raise Closed from error
            if not part:
                raise Closed
            received += part
        return bytes(received)

    def _wait(self, seconds: float, look: Callable[[], None]) -> None:
        until = time.monotonic() + seconds
        while True:
            with interruptible():
                ready = self._readable.poll(LOOK_EVERY * 1000)
            if ready:
                return
            if time.monotonic() > until:
                raise Silent(seconds)
            look()


@dataclass(frozen=True)
class Child:
    """A forked process and the channel to it."""

    pid: int
    channel: Channel

    def receive(self, seconds: float = math.inf, look: Callable[[], None] = wait_on) -> bytes:
        """Wait for a message as the channel does; the process is woken, should it be stopped.

        Raises:
            Closed: it ended.
            Silent: nothing came for so many seconds.
        """

        def wake_and_look() -> None:
            self.wake()
            look()

        return self.channel.receive(seconds, wake_and_look)

    def wake(self) -> None:
        """Have the process go on, if something has stopped it."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGCONT)

    def end(self) -> None:
        """Close the channel, at which the process ends, and wait for that; not for ever."""
        self.channel.finish()
        try:
            with contextlib.suppress(Closed):
                while True:
                    self.receive(_PATIENCE)
        except Silent:
            self.kill()
            return
        self.channel.close()
        self._wait()

    def kill(self) -> None:
        """End the process at once."""
        self.channel.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self._wait()

    def _wait(self) -> None:
        try:
            os.waitpid(self.pid, 0)
        except ChildProcessError:
            return  # a handler of the caller's own has waited for it


def hold_interrupts() -> None:
    """From now on Ctrl-C reaches this process only while it waits, as ``interruptible`` says.

    Anywhere else it might come in the midst of what a library does, which then complains about it
    on the learner's terminal.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


@contextmanager
def interruptible() -> Iterator[None]:
    """A block that waits, and that Ctrl-C may end."""
    held = signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


def fork(body: Callable[[Channel], None]) -> Child:
    """Run ``body`` in a forked process; it ends when ``body`` returns or raises.

    What it raises shows only as a closed channel. The process ends at once when the thread that
    forked it is gone, in whatever way.
    """
    ours, theirs = socket.socketpair()
    _ours.add(ours)
    parent = os.getpid()
    # Ctrl-C waits: in the midst of forking it would end in a library's own words on the terminal.
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    with warnings.catch_warnings():
        # A library's idle threads (numpy's) do not matter: none of them holds what we use.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid:
        theirs.close()
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
        return Child(pid, Channel(ours))
    code = 1
    try:
        when_parent_dies(signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(code)  # it was gone before that
        # How the parent ends when it is told to is not for this one: it has nothing to put back.
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
        # Its siblings' too: they would never see their channels close while this one lives.
        for end in _ours:
            end.close()
        body(Channel(theirs))
        code = 0
    finally:
        # Not sys.exit: what the parent registered to run at its exit is not ours to run.
        os._exit(code)
