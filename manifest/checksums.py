"""What the files of the pinned release must be, by sha256."""

from __future__ import annotations

import base64
import csv
import hashlib

from manifest.errors import WrongHash


def checksum(content: bytes) -> str:
    """The sha256, in hex."""
    return hashlib.sha256(content).hexdigest()


def check(path: str, content: bytes, expected: str | None) -> bytes:
    """The content, if its sha256 is what is expected, or if nothing is.

    Raises:
        WrongHash: it is not.
    """
    found = checksum(content)
    if expected is not None and found != expected:
        raise WrongHash(path, expected, found)
    return content


def of_record(record: bytes) -> dict[str, str]:
    """The sha256 of each file in a wheel, in hex by path, from its RECORD.

    >>> of_record(b"a.py,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0")["a.py"][:12]
    'e3b0c44298fc'
    """
    found = {}
    for path, digest, _size in csv.reader(record.decode("utf-8").splitlines()):
        kind, _, text = digest.partition("=")
        if kind == "sha256":
            found[path] = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).hex()
    return found
