"""A moving line on stderr for whatever takes longer than a second."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 1.0


class Waiting:
    """How far the work has come; None while nobody knows."""

    def __init__(self) -> None:
        self.done = 0
        self.total: int | None = None

    def advance(self, done: int, total: int) -> None:
        """Tell how many of how many parts are done."""
        self.done, self.total = done, total


@contextmanager
def waiting(what: str) -> Iterator[Waiting]:
    """Show a progress bar while the block runs, if it runs longer than a second.

    The bar is drawn on stderr when that is a terminal, and is gone when the block ends.

    >>> with waiting("grading") as progress:
    ...     progress.advance(1, 10)
    """
    state = Waiting()
    if not sys.stderr.isatty():
        yield state
        return
    finished = threading.Event()
    thread = threading.Thread(target=_draw, args=(what, state, finished), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        finished.set()
        thread.join()


def _draw(what: str, state: Waiting, finished: threading.Event) -> None:
    if finished.wait(PATIENCE):
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from grader.report.console import make_console

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=make_console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task(what, total=None)
        while not finished.wait(0.1):
            bar.update(task, completed=state.done, total=state.total)
