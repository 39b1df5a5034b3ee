"""A moving line on stderr for whatever takes longer than a second."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

PATIENCE = 1.0
INTERVAL = 0.2
BAR_WIDTH = 24


class Waiting:
    """How far the work has come, and the line that tells it."""

    def __init__(self, what: str, estimates: bool = False) -> None:
        self._what = what
        self._estimates = estimates
        self._began = time.monotonic()
        self._done = 0
        self._total: int | None = None

    def advance(self, done: int, total: int) -> None:
        """Tell how many of how many parts are done."""
        self._done, self._total = done, total

    def line(self, seconds: float) -> str:
        """The line after so many seconds.

        >>> waiting = Waiting("Checking")
        >>> waiting.advance(6, 12)
        >>> waiting.line(3.2)
        'Checking  ━━━━━━━━━━━━────────────  6 of 12  3 s'
        """
        if self._total:
            filled = BAR_WIDTH * self._done // self._total
            bar = "━" * filled + "─" * (BAR_WIDTH - filled)
            left = self._left(seconds) if self._estimates else ""
            return f"{self._what}  {bar}  {self._done} of {self._total}  {seconds:.0f} s{left}"
        place = int(seconds / INTERVAL) % (BAR_WIDTH - 3)
        bar = "─" * place + "━━━━" + "─" * (BAR_WIDTH - 4 - place)
        return f"{self._what}  {bar}  {seconds:.0f} s"

    def _left(self, seconds: float) -> str:
        """How much longer it takes if it goes on as it went."""
        if not self._done or not self._total:
            return ""
        left = seconds / self._done * (self._total - self._done)
        minutes = f"{left / 60:.0f} min" if left >= 100 else f"{left:.0f} s"
        return f", about {minutes} left"

    def draw(self) -> None:
        """Draw the line over the last one."""
        line = self.line(time.monotonic() - self._began)
        width = shutil.get_terminal_size().columns - 1
        os.write(sys.stderr.fileno(), f"\r\x1b[2K{line[:width]}".encode())


@contextmanager
def waiting(what: str, estimates: bool = False) -> Iterator[Waiting]:
    """Show a progress bar while the block runs, if it runs longer than a second.

    With `estimates` it tells how much longer that may be.

    The bar is drawn on stderr when that is a terminal, and is gone when the block ends. An alarm
    draws it and not a thread, because the block may fork.

    >>> with waiting("Checking") as progress:
    ...     progress.advance(1, 10)
    """
    state = Waiting(what, estimates)
    if not sys.stderr.isatty() or threading.current_thread() is not threading.main_thread():
        yield state
        return
    drawn = False

    def on_alarm(_number: int, _frame: FrameType | None) -> None:
        nonlocal drawn
        drawn = True
        state.draw()

    before = signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE, INTERVAL)
    try:
        yield state
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if drawn:
            os.write(sys.stderr.fileno(), b"\r\x1b[2K")
