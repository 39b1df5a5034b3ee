"""The files of one release of vLLM, wherever they come from."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from manifest.errors import NoSuchFile


class Release(Protocol):
    """A release of vLLM. Paths are relative to its top level: `vllm/v1/core/block_pool.py`."""

    @property
    def version(self) -> str:
        """`0.30.0`."""

    def names(self) -> tuple[str, ...]:
        """The paths of all its files, sorted."""

    def read(self, path: str) -> bytes:
        """One file.

        Raises:
            NoSuchFile: the release has no file of that path.
            SourceError: it cannot be had, as the error says.
        """


class FolderRelease:
    """A release in a folder, such as the `site-packages` of an environment that has it."""

    def __init__(self, folder: Path, version: str) -> None:
        self._folder = folder
        self.version = version

    def names(self) -> tuple[str, ...]:
        inside = (one for one in self._folder.glob("vllm/**/*") if one.is_file())
        return tuple(sorted(one.relative_to(self._folder).as_posix() for one in inside))

    def read(self, path: str) -> bytes:
        try:
            return (self._folder / path).read_bytes()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
            raise NoSuchFile(path, self.version) from error
