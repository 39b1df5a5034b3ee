"""Exceptions on their way: the submission's to the suite, a part's to the submission."""

from __future__ import annotations

import builtins
from typing import cast

from grader.worker import wire
from grader.worker.errors import (
    LoadFailed,
    LoadFailure,
    OutOfMemory,
    SubmissionRaised,
    WorkerError,
)


def error_of(reply: object, call: str) -> WorkerError | None:
    """The error that a reply tells; None if it tells none."""
    if isinstance(reply, wire.NotLoaded) and reply.kind in LoadFailed.KINDS:
        kind = cast(LoadFailure, reply.kind)
        return LoadFailed(kind, reply.message, reply.line, reply.type_name, call, reply.column)
    if isinstance(reply, wire.Raised):
        bases, chain = tuple(reply.bases), tuple(reply.chain)
        error = OutOfMemory if "MemoryError" in (reply.type_name, *bases) else SubmissionRaised
        return error(reply.type_name, bases, reply.message, reply.line, call, chain)
    return None


def refusal(error: Exception) -> wire.Refused:
    """A builtin exception as the submission gets it; any other goes on, up to the suite."""
    if isinstance(error, SubmissionRaised):
        names: tuple[str, ...] = (error.type_name, *error.bases)
        message = error.message
    elif type(error).__module__ == "builtins":
        names, message = (type(error).__name__,), str(error.args[0]) if error.args else ""
    else:
        raise error
    return wire.Refused(next(filter(_is_builtin, names), "RuntimeError"), message)


def _is_builtin(name: str) -> bool:
    kind = getattr(builtins, name, None)
    return isinstance(kind, type) and issubclass(kind, BaseException)
