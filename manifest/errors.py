"""What can go wrong between the course and a release of vLLM. Each carries its data; the words
are `str()` of it: one line that names the file or release, the cause and the fix."""

from __future__ import annotations

FETCH_AHEAD = "vllmlings source --all-cited"


class SourceError(Exception):
    """The source of a release cannot be had."""


class Offline(SourceError):
    """The package index cannot be reached, and what is wanted is not in the cache."""

    def __init__(self, wanted: str, cause: str = "") -> None:
        super().__init__(wanted, cause)
        self.wanted = wanted
        self.cause = cause

    def __str__(self) -> str:
        cause = f" ({self.cause})" if self.cause else ""
        return (
            f"{self.wanted}: not in the cache, and the package index cannot be reached{cause}; "
            f"with a network, {FETCH_AHEAD} fetches all that the course cites"
        )


class TimedOut(SourceError):
    """The index, or what it points to, did not answer in time."""

    def __init__(self, wanted: str, seconds: float) -> None:
        super().__init__(wanted, seconds)
        self.wanted = wanted
        self.seconds = seconds

    def __str__(self) -> str:
        return f"{self.wanted}: no answer within {self.seconds:g} s; try again"


class NoSuchRelease(SourceError):
    """The index has no such release of the project, or not the file that is wanted of it."""

    def __init__(self, version: str, newest: str | None = None, wanted: str = "") -> None:
        super().__init__(version, newest, wanted)
        self.version = version
        self.newest = newest
        self.wanted = wanted

    def __str__(self) -> str:
        newest = f"; its newest is {self.newest}" if self.newest else ""
        what = f"no {self.wanted} of this release" if self.wanted else "no such release"
        return f"vllm {self.version}: the package index has {what}{newest}"


class YankedRelease(SourceError):
    """The release was withdrawn by its authors, and nobody named it exactly."""

    def __init__(self, version: str, reason: str = "") -> None:
        super().__init__(version, reason)
        self.version = version
        self.reason = reason

    def __str__(self) -> str:
        reason = f": {self.reason}" if self.reason else ""
        return f"vllm {self.version} was withdrawn by its authors{reason}"


class NoSuchFile(SourceError, LookupError):
    """The release has no such file; `near` are paths of it that look like what is wanted."""

    def __init__(self, path: str, version: str, near: tuple[str, ...] = ()) -> None:
        super().__init__(path, version, near)
        self.path = path
        self.version = version
        self.near = near

    def __str__(self) -> str:
        guess = f"; did you mean {' or '.join(self.near)}?" if self.near else ""
        return f"{self.path}: no such file in vLLM {self.version}{guess}"


class WrongHash(SourceError):
    """What came is not what the manifest says; nothing of it may be shown."""

    def __init__(self, path: str, expected: str, found: str) -> None:
        super().__init__(path, expected, found)
        self.path = path
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        return (
            f"{self.path}: its sha256 is {self.found[:12]}..., the manifest says "
            f"{self.expected[:12]}...; nothing is shown: whoever serves it does not serve the "
            "pinned release"
        )


class BadArchive(SourceError):
    """The archive, or a part of it, is not what its format says: cut short, or damaged."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(name, problem)
        self.name = name
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.name}: the answer is damaged ({self.problem}); try again"


class NoRangeSupport(SourceError):
    """The server gives whole files only; a wheel is too large to fetch whole unasked."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return f"{self.name}: its server gives no parts of files (no HTTP range requests)"
