"""Writing files so that a crash leaves either the old content or the new one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace the file's content in one step: write beside it, fsync, rename.

    Raises:
        OSError: the folder cannot be written to; the old content is then untouched.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "new", "state.json")
    ...     write_atomically(path, "{}")
    ...     path.read_text()
    '{}'
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content.encode() if isinstance(content, str) else content)
            stream.flush()
            os.fsync(stream.fileno())
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        os.chmod(beside, mode)
        os.replace(beside, path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def unused(path: Path) -> Path:
    """The path, or one with a number behind its stem, that nothing has yet.

    >>> unused(Path("no", "such.2025-01-31.py"))
    PosixPath('no/such.2025-01-31.py')
    """
    number, free = 1, path
    while os.path.lexists(free):
        number += 1
        free = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return free


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable; a file system that cannot is no worse off."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)
