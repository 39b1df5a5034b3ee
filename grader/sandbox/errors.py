"""Why there is no sandbox."""

from __future__ import annotations


class SandboxMissing(Exception):
    """The sandbox does not work on this machine; `cause` says why, `fix` what helps.

    >>> print(SandboxMissing("bwrap is not installed", "apt-get install bubblewrap"))
    the sandbox does not work here: bwrap is not installed; to mend it: apt-get install bubblewrap
    """

    def __init__(self, cause: str, fix: str) -> None:
        super().__init__(f"the sandbox does not work here: {cause}; to mend it: {fix}")
        self.cause = cause
        self.fix = fix
