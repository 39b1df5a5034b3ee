"""A release as the package index publishes it: single files of its wheel, kept on disk.

What the wheel has not (`rust/`, `csrc/`, `tests/` ...) comes from the source distribution, which
is fetched whole the first time; so does everything where a server gives no parts of files.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from typing import Protocol

from manifest import pins, symbols
from manifest.cache import Cache
from manifest.checksums import check, checksum
from manifest.errors import NoRangeSupport, NoSuchFile, NoSuchRelease, Offline, SourceError
from manifest.index import Index, PublishedFile
from manifest.sdist_files import SdistFiles
from manifest.wheel_files import WheelFiles

ONLY_IN_SDIST = ("benchmarks", "cmake", "csrc", "docs", "examples", "rust", "tests", "tools")
_VERSION = re.compile(r"\d[\w.+!-]*")


class Listener(Protocol):
    """Is told what takes long, and what a person should know."""

    def say(self, line: str) -> None:
        """One line for a person."""

    def advance(self, come: int, size: int | None) -> None:
        """So many bytes of a whole archive have come."""


class Silent:
    """A listener that lets everything pass."""

    def say(self, line: str) -> None: ...

    def advance(self, come: int, size: int | None) -> None: ...


@contextmanager
def published(
    version: str | None = None, listener: Listener | None = None
) -> Iterator[PublishedRelease]:
    """The release of that version, or the pinned one, for the time of the block.

    Nothing is asked of the network before a file is wanted that is not kept.
    """
    release = PublishedRelease(version, listener)
    try:
        yield release
    finally:
        release.close()


class PublishedRelease:
    """See the module's docstring. What is wrong or damaged is neither given nor kept."""

    def __init__(
        self,
        version: str | None = None,
        listener: Listener | None = None,
        index: Index | None = None,
        cache: Cache | None = None,
        pinned: pins.Pins | None = None,
        cited: Mapping[str, str] | None = None,
    ) -> None:
        """By default all is as in the manifest: `cited` has the sha256 of files in hex by path.

        Raises:
            NoSuchRelease: the version is none.
        """
        self._pins = pinned or pins.load()
        self.version = (version or self._pins.version).removeprefix("v")
        if not _VERSION.fullmatch(self.version):
            raise NoSuchRelease(self.version)
        self.index = index or Index()
        self._listener = listener or Silent()
        self._warned = False
        self._in_parts = True
        pin = self._pins if self._pins.version == self.version else None
        self._cited = (_cited() if cited is None else cited) if pin else {}
        wheel, sdist = (pin.wheel, pin.sdist) if pin else (None, None)
        place = (self.version, self.index, cache or Cache())
        self._wheel = WheelFiles(*place, wheel, self._cited, self._warn)
        self._sdist = SdistFiles(*place, sdist, self._fetching, self._listener.advance)

    def names(self) -> tuple[str, ...]:
        """The paths of all files that can be had without fetching the source distribution."""
        try:
            return self._names()
        except Offline as error:
            raise Offline(f"the list of vLLM {self.version}'s files", error.cause) from error

    def read(self, path: str) -> bytes:
        """One file, checked against the manifest where it is one of the pinned release.

        Raises:
            NoSuchFile: with paths that look like it.
            WrongHash: it is not what the manifest says.
            SourceError: it cannot be had.
        """
        try:
            return self._read(path)
        except NoSuchFile as error:
            raise NoSuchFile(path, self.version, self._near(path)) from error
        except Offline as error:
            raise Offline(path, error.cause) from error

    def pins(self) -> pins.Pins:
        """The pins moved to this release; what is no file of vLLM's releases stays.

        Raises:
            SourceError: it cannot be had.
        """
        wheel, sdist = self._wheel.wheel.file, self.index.sdist(self.version)
        record = checksum(self._wheel.read(self._wheel.record_path))
        return replace(
            self._pins,
            version=self.version,
            released=wheel.uploaded or date.today(),
            wheel=pins.PinnedWheel(wheel.name, wheel.sha256 or "", record),
            sdist=pins.PinnedFile(sdist.name, sdist.sha256 or ""),
        )

    def close(self) -> None:
        self._wheel.close()
        self._sdist.close()
        self.index.close()

    def _read(self, path: str) -> bytes:
        if ".." in path.split("/") or path.startswith("/"):
            raise NoSuchFile(path, self.version)
        if path.startswith("vllm/"):
            if self._in_parts:
                try:
                    return self._wheel.read(path)
                except NoRangeSupport:
                    self._in_parts = False
        elif path.partition("/")[0] not in ONLY_IN_SDIST and not self._sdist.is_kept:
            raise NoSuchFile(path, self.version)
        return check(path, self._sdist.read(path), self._cited.get(path))

    def _names(self) -> tuple[str, ...]:
        if self._in_parts:
            try:
                more = self._sdist.names() if self._sdist.is_kept else ()
                return tuple(sorted({*self._wheel.names(), *more}))
            except NoRangeSupport:
                self._in_parts = False
        return self._sdist.names()

    def _near(self, path: str) -> tuple[str, ...]:
        try:
            return tuple(difflib.get_close_matches(path, self.names(), n=2, cutoff=0.8))
        except SourceError:
            return ()

    def _warn(self, file: PublishedFile) -> None:
        if file.withdrawn and not self._warned:
            self._listener.say(f"vllm {self.version} was withdrawn: {file.withdrawn}")
            self._warned = True

    def _fetching(self, file: PublishedFile) -> None:
        self._warn(file)
        size = f", {file.size / 1e6:,.0f} MB" if file.size else ""
        why = "only there" if self._in_parts else "the server gives no parts of the wheel"
        self._listener.say(f"Fetching the source of vLLM {self.version}{size}, once ({why}).")


def _cited() -> dict[str, str]:
    """The sha256 of the files that the course cites, by path."""
    return {one.file: one.sha256 for one in symbols.load().values()}
