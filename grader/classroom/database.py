"""Opening nbgrader's gradebook in a database."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nbgrader.api import Gradebook, InvalidEntry
from sqlalchemy.exc import SQLAlchemyError


class GradebookError(Exception):
    """The gradebook cannot be written to; verdicts are in the journal all the same."""

    def __init__(self, url: str, cause: str) -> None:
        super().__init__(
            f"the gradebook {url} cannot be written to: {cause}; every verdict is in the journal: "
            "mend it, and run the same command again"
        )
        self.url, self.cause = url, cause


@contextmanager
def opened(url: str, course_id: str) -> Iterator[Gradebook]:
    """The gradebook at a URL of SQLAlchemy's; made if there is none.

    Raises:
        GradebookError: the database cannot be reached, or does not do what the block wants.
    """
    try:
        with _tools_in_path(), Gradebook(with_driver(url), course_id) as gradebook:
            yield gradebook
    except (SQLAlchemyError, InvalidEntry, ImportError) as error:
        # The URL may hold a password.
        cause = " ".join(str(getattr(error, "orig", None) or error).split())
        shown, *_ = url.split("://")
        raise GradebookError(f"{shown}://…", cause) from error


def with_driver(url: str) -> str:
    """With the driver that this course installs.

    >>> with_driver("postgresql://teacher@localhost/class")
    'postgresql+psycopg://teacher@localhost/class'
    """
    for scheme in ("postgresql://", "postgres://"):
        if url.startswith(scheme):
            return "postgresql+psycopg://" + url.removeprefix(scheme)
    return url


@contextmanager
def _tools_in_path() -> Iterator[None]:
    """nbgrader asks `alembic` for a new database's version, whether or not it is in the path."""
    before = os.environ.get("PATH", "")
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), before])
    try:
        yield
    finally:
        os.environ["PATH"] = before
