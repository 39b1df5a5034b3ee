"""The source of a submission, read once: what is graded is what its verdict is remembered of."""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

LARGEST = 1 << 20


class Unreadable(Exception):
    """No source can be read there; `cause` says why: `there is no such file`."""

    def __init__(self, path: Path, cause: str) -> None:
        super().__init__(f"{printable(path)}: {cause}")
        self.path, self.cause = path, cause


@dataclass(frozen=True, slots=True)
class Source:
    """The content of a file at one moment, and where it lies.

    >>> Source(Path("exercises/pool.py"), b"class Pool: ...").name
    'pool'
    """

    path: Path
    content: bytes

    @property
    def name(self) -> str:
        """What the module is called."""
        return printable(self.path.with_suffix("").name)

    @property
    def digest(self) -> str:
        """What names the content."""
        return hashlib.sha256(self.content).hexdigest()


def read_source(path: Path) -> Source:
    """Read a file of at most `LARGEST` bytes; never waits for one that is no file.

    Raises:
        Unreadable: there is none, it is too large, or something else than a file.
    """
    try:
        # A pipe that nobody writes into would keep its reader waiting.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Unreadable(path, "this is not a file")
            content = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise Unreadable(path, "there is no such file") from None
    except IsADirectoryError:
        raise Unreadable(path, "this is a folder, not a file") from None
    except OSError as error:
        raise Unreadable(path, f"cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise Unreadable(path, str(error)) from None
    if len(content) > LARGEST:
        raise Unreadable(path, f"larger than {LARGEST} bytes")
    return Source(path, content)


def printable(path: Path | str) -> str:
    """The path as text that any output can take: bytes that are no UTF-8 show as `�`."""
    return os.fsencode(path).decode("utf-8", "replace")
