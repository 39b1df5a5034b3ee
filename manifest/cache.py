"""Files of releases kept on disk, so that nothing is fetched twice and a reader can be offline."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import IO

VARIABLE = "VLLMLINGS_CACHE"


def default_folder() -> Path:
    """`VLLMLINGS_CACHE`, or `vllmlings` in the user's folder of caches."""
    own = os.environ.get(VARIABLE)
    if own:
        return Path(own).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "vllmlings"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vllmlings"


class Cache:
    """Files by release, by the archive they come from, and by their path in it.

    A file is there whole or not at all: it is written beside its place and moved there. A
    folder that cannot be written is no error: then nothing is kept.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder if folder is not None else default_folder()

    def place(self, version: str, archive: str, path: str = "") -> Path:
        """Where a file is kept.

        Raises:
            ValueError: the path leads out of the release.
        """
        parts = PurePosixPath(path).parts
        if ".." in parts or path.startswith("/") or "/" in version or version.startswith("."):
            raise ValueError(f"{path}: leads out of the release")
        return self.folder.joinpath("vllm", version, archive, *parts)

    def read(self, version: str, archive: str, path: str) -> bytes | None:
        """The file, or None if it is not kept."""
        try:
            return self.place(version, archive, path).read_bytes()
        except OSError:
            return None

    def write(self, version: str, archive: str, path: str, content: bytes) -> None:
        with suppress(OSError), self.writing(version, archive, path) as file:
            file.write(content)

    @contextmanager
    def writing(self, version: str, archive: str, path: str = "") -> Iterator[IO[bytes]]:
        """A file that takes its place when the block ends without an error.

        Raises:
            OSError: it cannot be written.
        """
        place = self.place(version, archive, path)
        place.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=place.parent, prefix=".writing-")
        try:
            with os.fdopen(descriptor, "w+b") as file:
                yield file
            os.replace(name, place)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
