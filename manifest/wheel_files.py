"""The files of a release's wheel: kept on disk, checked when they are the pinned release's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

from manifest.cache import Cache
from manifest.checksums import check, of_record
from manifest.errors import NoSuchFile, WrongHash
from manifest.index import Index, PublishedFile
from manifest.pins import PinnedWheel
from manifest.wheel import Wheel

ARCHIVE = "wheel"
_NAMES = ".names"


class WheelFiles:
    """`pin` is None where the release is not the pinned one: then nothing is known of its files
    but what the wheel says itself. `cited` has the sha256 of some, in hex by path."""

    def __init__(
        self,
        version: str,
        index: Index,
        cache: Cache,
        pin: PinnedWheel | None,
        cited: Mapping[str, str],
        found: Callable[[PublishedFile], None],
    ) -> None:
        """`found` is called with the wheel once it is found on the index."""
        self.version = version
        self._index = index
        self._cache = cache
        self._pin = pin
        self._cited = cited
        self._found = found

    @property
    def record_path(self) -> str:
        return f"vllm-{self.version}.dist-info/RECORD"

    def names(self) -> tuple[str, ...]:
        """The paths of the package's files, sorted."""
        kept = self._cache.read(self.version, ARCHIVE, _NAMES)
        if kept is None:
            names = sorted(name for name in self.wheel.names() if name.startswith("vllm/"))
            kept = "\n".join(names).encode()
            self._cache.write(self.version, ARCHIVE, _NAMES, kept)
        return tuple(kept.decode().split("\n"))

    def kept(self, path: str) -> bytes | None:
        """The file from the disk, if it is there and still what it was."""
        content = self._cache.read(self.version, ARCHIVE, path)
        if content is None:
            return None
        try:
            return check(path, content, self._expected(path))
        except WrongHash:
            return None

    def read(self, path: str) -> bytes:
        """One file.

        Raises:
            NoSuchFile: the wheel has none of that path.
            WrongHash: it is not what the manifest says.
            NoRangeSupport: the server gives whole files only.
            SourceError: it cannot be had.
        """
        content = self.kept(path)
        if content is not None:
            return content
        try:
            content = self.wheel.read(path)
        except KeyError as error:
            raise NoSuchFile(path, self.version) from error
        check(path, content, self._expected(path))
        self._cache.write(self.version, ARCHIVE, path, content)
        return content

    def close(self) -> None:
        if "wheel" in self.__dict__:
            self.wheel.close()

    @cached_property
    def wheel(self) -> Wheel:
        """The wheel on the index.

        Raises:
            NoSuchRelease: there is none.
            WrongHash: the index has another one of the pinned one's name.
        """
        file = self._index.wheel(self.version, self._pin.name if self._pin else "")
        file.check(self._pin)
        self._found(file)
        return Wheel(file, self._index.session, self._index.timeout)

    def _expected(self, path: str) -> str | None:
        if self._pin is None:
            return None
        if path == self.record_path:
            return self._pin.record
        return self._cited.get(path) or self._recorded.get(path)

    @cached_property
    def _recorded(self) -> dict[str, str]:
        return of_record(self.read(self.record_path))
