"""Single keys from a terminal that is put back as it was, however the program ends."""

from __future__ import annotations

import os
import signal
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def single_keys() -> Iterator[int | None]:
    """Keys reach us one by one and unseen while the block runs; gives the descriptor to read.

    None when stdin is no terminal. Ctrl-C still interrupts. The terminal is restored when the
    block ends, by whatever way: an error, Ctrl-C, SIGTERM, SIGHUP, and while it is suspended.
    """
    descriptor = sys.stdin.fileno() if sys.stdin is not None and sys.stdin.isatty() else None
    if descriptor is None:
        with _ending_signals_raise():
            yield None
        return
    before = termios.tcgetattr(descriptor)

    def suspend(_number: int, _frame: FrameType | None) -> None:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
        os.kill(os.getpid(), signal.SIGSTOP)
        # Continued.
        tty.setcbreak(descriptor)

    suspend_before = signal.signal(signal.SIGTSTP, suspend)
    try:
        with _ending_signals_raise():
            tty.setcbreak(descriptor)
            yield descriptor
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
        signal.signal(signal.SIGTSTP, suspend_before)


def read_keys(descriptor: int) -> str:
    """The keys that wait to be read; an empty text when the terminal has gone."""
    try:
        return os.read(descriptor, 64).decode("utf-8", "replace")
    except OSError:
        return ""


@contextmanager
def _ending_signals_raise() -> Iterator[None]:
    """SIGTERM and SIGHUP end the program through its `finally` blocks."""

    def leave(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, leave) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
