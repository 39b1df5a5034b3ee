"""A published source distribution: fetched whole, checked, and kept as a zip."""

from __future__ import annotations

import hashlib
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from typing import IO, TYPE_CHECKING

from manifest.errors import BadArchive, WrongHash
from manifest.index import PublishedFile
from manifest.network import plain_errors

if TYPE_CHECKING:
    from requests import Session

_CHUNK = 1 << 17
Advance = Callable[[int, int | None], None]
"""Called with the bytes that have come and with how many there are, if that is known."""


def fetch(
    file: PublishedFile,
    sha256: str | None,
    session: Session,
    timeout: float,
    target: IO[bytes],
    advance: Advance,
) -> None:
    """Write the archive into `target`.

    Raises:
        WrongHash: it is not the file of that sha256.
        SourceError: it cannot be had.
    """
    digest = hashlib.sha256()
    come = 0
    with (
        plain_errors(file.name, timeout),
        session.get(file.url, stream=True, timeout=timeout) as response,
    ):
        response.raise_for_status()
        for chunk in response.iter_content(_CHUNK):
            target.write(chunk)
            digest.update(chunk)
            come += len(chunk)
            advance(come, file.size)
    if sha256 is not None and digest.hexdigest() != sha256:
        raise WrongHash(file.name, sha256, digest.hexdigest())
    target.seek(0)


def repack(archive: IO[bytes], name: str, target: IO[bytes]) -> None:
    """Write the archive's regular files into a zip, where each can be read by itself; their paths
    there lack the folder that holds them all.

    Raises:
        BadArchive: it is no such archive.
    """
    try:
        with (
            tarfile.open(fileobj=archive, mode="r:gz") as tar,
            zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made,
        ):
            for member in tar:
                content = tar.extractfile(member) if member.isreg() else None
                path = member.name.partition("/")[2]
                if content is not None and path:
                    made.writestr(zipfile.ZipInfo(path), content.read(), zipfile.ZIP_DEFLATED)
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise BadArchive(name, str(error)) from error
