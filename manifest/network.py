"""Asking over HTTP: one session, and whatever goes wrong there as the errors of this package.

The libraries are imported when they are needed: most commands never are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from manifest.errors import BadArchive, NoRangeSupport, Offline, SourceError, TimedOut

if TYPE_CHECKING:
    from requests import Session

TIMEOUT = 15.0
"""Seconds without a byte from the other side."""


def make_session(certificate: str | None = None) -> Session:
    """A session that trusts what pip trusts and asks for files as they are."""
    import requests

    session = requests.Session()
    session.headers.update({"User-Agent": "vllmlings", "Accept-Encoding": "identity"})
    if certificate:
        session.verify = certificate
    return session


@contextmanager
def plain_errors(wanted: str, seconds: float) -> Iterator[None]:
    """What the libraries raise in the block, told of `wanted`, as an error of this package."""
    import zipfile
    import zlib

    import requests
    import urllib3
    from remotezip import RangeNotSupported, RemoteZipError

    try:
        yield
    except RangeNotSupported as error:
        raise NoRangeSupport(wanted) from error
    except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
        raise _told(error, wanted, seconds) from error
    except RemoteZipError as error:
        inner = error.__cause__ or error.__context__
        raise _told(inner or error, wanted, seconds) from error
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise BadArchive(wanted, str(error) or "cut short") from error


def _told(error: BaseException, wanted: str, seconds: float) -> SourceError:
    import requests
    import urllib3

    chain = list(_chain(error))
    late = (requests.Timeout, urllib3.exceptions.TimeoutError, TimeoutError)
    refused = urllib3.exceptions.NewConnectionError
    if any(isinstance(one, late) and not isinstance(one, refused) for one in chain):
        return TimedOut(wanted, seconds)
    match error:
        case requests.HTTPError(response=response) if response is not None:
            return Offline(wanted, f"it answers {response.status_code}")
        case requests.exceptions.SSLError():
            return Offline(wanted, "its certificate is not accepted")
        case requests.exceptions.ProxyError():
            return Offline(wanted, "the proxy does not let us through")
        case requests.ConnectionError():
            if "Read timed out" in str(error):
                return TimedOut(wanted, seconds)
            return Offline(wanted)
        case requests.exceptions.ChunkedEncodingError() | urllib3.exceptions.ProtocolError():
            return BadArchive(wanted, "cut short")
        case requests.exceptions.InvalidURL() | requests.exceptions.InvalidSchema():
            return Offline(wanted, "its address in pip's settings is no web address")
    return BadArchive(wanted, type(error).__name__)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what caused it; requests hides some causes in its arguments."""
    while error is not None:
        yield error
        inner = error.args[0] if error.args and isinstance(error.args[0], BaseException) else None
        yield from [inner] if inner is not None else []
        error = error.__cause__ or error.__context__
