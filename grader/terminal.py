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

    None when stdin is no terminal, or when this program runs in the background of one: it would be
    stopped if it read from it. Ctrl-C still interrupts. The terminal is restored when the block
    ends, by whatever way: an error, Ctrl-C, SIGTERM, SIGHUP, and while it is suspended.
    """
    descriptor = _own_terminal()
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
        if _own_terminal() is not None:
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
        signal.signal(signal.SIGTSTP, suspend_before)


def _own_terminal() -> int | None:
    """The descriptor of stdin, if that is a terminal and this program is in its foreground."""
    if sys.stdin is None or not sys.stdin.isatty():
        return None
    descriptor = sys.stdin.fileno()
    try:
        foreground = os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:  # the terminal is not the one that controls this program: nobody stops it
        foreground = True
    return descriptor if foreground else None


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
