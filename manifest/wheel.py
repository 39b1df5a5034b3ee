"""A published wheel read by HTTP range requests: its list of files, and single files."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from manifest.index import PublishedFile
from manifest.network import plain_errors

if TYPE_CHECKING:
    from remotezip import RemoteZip
    from requests import Session

TAIL = 1 << 20
"""Bytes asked for first: vLLM's list of 5,000 files, at the wheel's end, takes 0.6 MB."""


class Wheel:
    """Asks for the end of the wheel once, which lists its files, then once for each file."""

    def __init__(self, file: PublishedFile, session: Session, timeout: float) -> None:
        self.file = file
        self._session = session
        self._timeout = timeout

    def names(self) -> tuple[str, ...]:
        """The paths of all files in it, in its own order.

        Raises:
            NoRangeSupport: the server gives whole files only.
            SourceError: it cannot be had.
        """
        return tuple(name for name in self._zip.namelist() if not name.endswith("/"))

    def read(self, path: str, wanted: str = "") -> bytes:
        """One file; errors speak of `wanted`, or of the path.

        Raises:
            KeyError: it has no such file.
            NoRangeSupport: the server gives whole files only.
            SourceError: it cannot be had.
        """
        info = self._zip.getinfo(path)
        with plain_errors(wanted or path, self._timeout):
            return bytes(self._zip.read(info))

    def close(self) -> None:
        if "_zip" in self.__dict__:
            self._zip.close()

    @cached_property
    def _zip(self) -> RemoteZip:
        from remotezip import RemoteZip

        with plain_errors(self.file.name, self._timeout):
            return RemoteZip(
                self.file.url,
                initial_buffer_size=TAIL,
                session=self._session,
                timeout=self._timeout,
            )
