"""Reading a plain file of a folder that nobody vouches for.

No link is followed, no pipe or device is waited for, and no more is read than asked for.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from grader.worker.limits import MIB

Kind = Literal["link", "no_file", "unreadable", "too_large"]


class NotPlain(Exception):
    """It is no plain file, or too large, or cannot be read."""

    def __init__(self, kind: Kind, cause: str) -> None:
        super().__init__(cause)
        self.kind, self.cause = kind, cause


def read_plain(folder: Path, names: Sequence[str], largest: int) -> bytes:
    """The bytes of the file that these names lead to, at most `largest`.

    `folder` itself may be a link.

    Raises:
        NotPlain: it cannot be read, for one of its reasons.

    >>> len(read_plain(Path(__file__).parent, [Path(__file__).name], MIB)) > 1000
    True
    """
    opened: list[int] = []
    flags = os.O_RDONLY | os.O_CLOEXEC
    try:
        around = os.open(folder, flags | os.O_DIRECTORY)
        opened.append(around)
        for name in names[:-1]:
            around = os.open(name, flags | os.O_NOFOLLOW | os.O_DIRECTORY, dir_fd=around)
            opened.append(around)
        descriptor = os.open(
            names[-1], flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY, dir_fd=around
        )
        opened.append(descriptor)
        return _read(descriptor, largest)
    except OSError as error:
        raise of_system(error, error.errno == errno.ELOOP) from None
    finally:
        for descriptor in opened:
            os.close(descriptor)


def of_system(error: OSError, is_link: bool) -> NotPlain:
    """What the system's refusal means."""
    if is_link:
        return NotPlain("link", "it is a symbolic link, which is not followed")
    if error.errno == errno.ENXIO:
        return NotPlain("no_file", "it is no plain file")
    return NotPlain("unreadable", f"it cannot be read: {error.strerror}")


def _read(descriptor: int, largest: int) -> bytes:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        is_folder = stat.S_ISDIR(found.st_mode)
        raise NotPlain("no_file", "it is a folder" if is_folder else "it is no plain file")
    content = bytearray()
    if found.st_size <= largest:
        # It may grow while it is read.
        while len(content) <= largest and (part := os.read(descriptor, largest + 1)):
            content += part
    if max(len(content), found.st_size) > largest:
        raise NotPlain("too_large", f"it is larger than {shown_size(largest)}")
    return bytes(content)


def shown_size(size: int) -> str:
    """
    >>> shown_size(MIB), shown_size(200)
    ('1 MiB', '200 bytes')
    """
    return f"{size // MIB} MiB" if size >= MIB else f"{size} bytes"
