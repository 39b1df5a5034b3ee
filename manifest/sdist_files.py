"""The files of a release's source distribution: fetched whole the first time one is wanted."""

from __future__ import annotations

import tempfile
import zipfile
import zlib
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from manifest.cache import Cache
from manifest.errors import BadArchive, NoSuchFile
from manifest.index import Index, PublishedFile
from manifest.pins import PinnedFile
from manifest.sdist import Advance, fetch, repack

ARCHIVE = "sdist.zip"


class SdistFiles:
    """`pin` is None where the release is not the pinned one: then the index's own sha256 counts."""

    def __init__(
        self,
        version: str,
        index: Index,
        cache: Cache,
        pin: PinnedFile | None,
        found: Callable[[PublishedFile], None],
        advance: Advance,
    ) -> None:
        """`found` is called with the archive before it is fetched."""
        self.version = version
        self._index = index
        self._cache = cache
        self._pin = pin
        self._found = found
        self._advance = advance

    @property
    def is_kept(self) -> bool:
        return self._place.is_file()

    def names(self) -> tuple[str, ...]:
        """The paths of all its files, sorted."""
        return tuple(sorted(self._zip.namelist()))

    def read(self, path: str) -> bytes:
        """One file.

        Raises:
            NoSuchFile: the archive has none of that path.
            WrongHash: the archive is not what the manifest, or the index, says.
            SourceError: it cannot be had.
        """
        try:
            return self._zip.read(path)
        except KeyError as error:
            raise NoSuchFile(path, self.version) from error
        except (zipfile.BadZipFile, zlib.error) as error:
            self._place.unlink(missing_ok=True)
            raise BadArchive(self._place.name, str(error)) from error

    def close(self) -> None:
        if "_zip" in self.__dict__:
            self._zip.close()

    @property
    def _place(self) -> Path:
        return self._cache.place(self.version, ARCHIVE)

    @cached_property
    def _zip(self) -> zipfile.ZipFile:
        if self._place.is_file():
            try:
                return zipfile.ZipFile(self._place)
            except zipfile.BadZipFile:
                self._place.unlink()
        self._fetch()
        return zipfile.ZipFile(self._place)

    def _fetch(self) -> None:
        file = self._index.sdist(self.version)
        sha256 = self._pin.sha256 if self._pin else file.sha256
        file.check(self._pin)
        self._found(file)
        with tempfile.TemporaryFile() as archive:
            fetch(file, sha256, self._index.session, self._index.timeout, archive, self._advance)
            try:
                with self._cache.writing(self.version, ARCHIVE) as target:
                    repack(archive, file.name, target)
            except OSError as error:
                raise BadArchive(file.name, f"cannot be kept: {error}") from error
