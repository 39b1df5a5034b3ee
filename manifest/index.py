"""The package index: which releases of vLLM there are, and where their files lie."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING

from manifest.errors import BadArchive, NoSuchRelease, WrongHash, YankedRelease
from manifest.network import TIMEOUT, make_session, plain_errors
from manifest.pins import PinnedFile
from manifest.pip_settings import PipSettings, pip_settings

if TYPE_CHECKING:
    from pypi_simple import DistributionPackage
    from requests import Session

PROJECT = "vllm"
_PREFERRED = "x86_64"


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A wheel or an sdist on the index. `size` is in bytes; `withdrawn` tells why it is yanked,
    and is None where it is not."""

    name: str
    url: str
    sha256: str | None
    size: int | None
    uploaded: date | None = None
    withdrawn: str | None = None

    def check(self, pin: PinnedFile | None) -> None:
        """
        Raises:
            WrongHash: the index says that the pinned file of this name is another one.
        """
        if pin and self.name == pin.name and self.sha256 not in (None, pin.sha256):
            raise WrongHash(self.name, pin.sha256, self.sha256 or "")


class Index:
    """The index of the reader's pip; asked once, when something is wanted of it."""

    def __init__(self, settings: PipSettings | None = None, timeout: float = TIMEOUT) -> None:
        self._settings = settings if settings is not None else pip_settings()
        self.timeout = timeout

    @cached_property
    def session(self) -> Session:
        return make_session(self._settings.certificate)

    def close(self) -> None:
        if "session" in self.__dict__:
            self.session.close()

    def wheel(self, version: str, name: str = "") -> PublishedFile:
        """The release's wheel of that name, or for x86-64, or another: their source is the same.

        Raises:
            NoSuchRelease: there is none.
        """
        wheels = self._files(version, "wheel")
        wheels.sort(key=lambda one: (one.name != name, _PREFERRED not in one.name))
        if not wheels:
            raise NoSuchRelease(version, self._newest(), self._lacks(version, "wheel"))
        return wheels[0]

    def sdist(self, version: str) -> PublishedFile:
        """The release's source distribution.

        Raises:
            NoSuchRelease: there is none.
        """
        found = self._files(version, "sdist")
        if not found:
            raise NoSuchRelease(version, self._newest(), self._lacks(version, "source"))
        return found[0]

    def newest(self) -> str:
        """The newest release that is neither withdrawn nor a trial.

        Raises:
            YankedRelease: all that there are have been withdrawn.
            NoSuchRelease: there is none.
        """
        newest = self._newest()
        if newest is not None:
            return newest
        yanked = [one for one in self._packages if one.is_yanked and one.version]
        if yanked:
            raise YankedRelease(str(yanked[-1].version), yanked[-1].yanked_reason or "")
        raise NoSuchRelease("(any)")

    def _newest(self) -> str | None:
        from packaging.version import Version

        usable = [
            Version(one.version)
            for one in self._packages
            if one.version and one.package_type == "wheel" and not one.is_yanked
        ]
        whole = [version for version in usable if not version.is_prerelease]
        return str(max(whole)) if whole else None

    def _lacks(self, version: str, kind: str) -> str:
        """`kind` where the release is there but not in that form."""
        return kind if self._files(version, "wheel") or self._files(version, "sdist") else ""

    def _files(self, version: str, kind: str) -> list[PublishedFile]:
        from packaging.version import InvalidVersion, Version

        try:
            wanted = Version(version)
        except InvalidVersion as error:
            raise NoSuchRelease(version, self._newest()) from error
        return [
            PublishedFile(
                one.filename,
                one.url,
                one.digests.get("sha256"),
                one.size,
                one.upload_time.date() if one.upload_time else None,
                (one.yanked_reason or "no reason given") if one.is_yanked else None,
            )
            for one in self._packages
            if one.package_type == kind and one.version and Version(one.version) == wanted
        ]

    @cached_property
    def _packages(self) -> list[DistributionPackage]:
        from pydantic import ValidationError
        from pypi_simple import NoSuchProjectError, PyPISimple, UnsupportedContentTypeError

        address = self._settings.index
        index = (
            PyPISimple(address, session=self.session)
            if address
            else PyPISimple(session=self.session)
        )
        name = f"the package index's page of {PROJECT}"
        try:
            with plain_errors(name, self.timeout):
                return index.get_project_page(PROJECT, timeout=self.timeout).packages
        except NoSuchProjectError as error:
            raise NoSuchRelease("(any)") from error
        except (UnsupportedContentTypeError, ValidationError, ValueError) as error:
            raise BadArchive(name, "it is no index page") from error
