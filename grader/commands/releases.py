"""What the commands that read a release of vLLM share: its errors, and the progress of a fetch."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from manifest.published import Listener


@contextmanager
def told_plainly() -> Iterator[None]:
    """What cannot be found or had as one line, and exit code 1."""
    from manifest.errors import SourceError
    from manifest.finding import Ambiguous, BadLines, NotFound

    try:
        yield
    except (SourceError, Ambiguous, BadLines, NotFound) as error:
        raise click.ClickException(str(error)) from error


@contextmanager
def listener() -> Iterator[Listener]:
    """Tells on stderr what is fetched; in a terminal, with a bar for what is fetched whole."""
    telling = _Telling()
    try:
        yield telling
    finally:
        telling.stop()


@contextmanager
def counting(total: int, word: str) -> Iterator[Progress]:
    """A bar on stderr that counts up to `total`; `advance(0)` moves it by one."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=_stderr()) as progress:
        progress.add_task(word, total=total)
        yield progress


class _Telling:
    def __init__(self) -> None:
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def say(self, line: str) -> None:
        click.echo(line, err=True)

    def advance(self, come: int, size: int | None) -> None:
        if not sys.stderr.isatty():
            return
        if self._progress is None or self._task is None:
            self._progress = _bytes_bar()
            self._progress.start()
            self._task = self._progress.add_task("", total=size)
        self._progress.update(self._task, completed=come)
        if come == size:
            self.stop()

    def stop(self) -> None:
        if self._progress is not None:
            self._progress.stop()
            self._progress = self._task = None


def _bytes_bar() -> Progress:
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

    columns = (BarColumn(), DownloadColumn(), TimeRemainingColumn())
    return Progress(*columns, console=_stderr(), transient=True)


def _stderr() -> Console:
    from grader.report.console import make_console

    return make_console(stderr=True)
