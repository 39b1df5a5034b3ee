"""What can go wrong with a submission, as data. The wording for a person is the report's matter."""

from __future__ import annotations

import signal
from typing import Final, Literal, get_args

LoadFailure = Literal["missing_file", "encoding", "syntax", "import", "missing_name", "raised"]


class WorkerError(Exception):
    """The base of everything a submission can cause. `call` is the text of the call it ended."""

    call: str


class SubmissionRaised(WorkerError):
    """The submission raised an exception.

    `bases` are the names of its classes, nearest first (`("KeyError", "LookupError", ...)`);
    `line` is where in the submission it was raised, None if nowhere in its own file; `chain` holds
    the exceptions it was raised from, nearest first, as `"KeyError: 3"`.

    >>> SubmissionRaised("KeyError", ("KeyError", "LookupError"), "3", 7, "pool.free(3)").is_a(
    ...     "LookupError"
    ... )
    True
    """

    def __init__(
        self,
        type_name: str,
        bases: tuple[str, ...],
        message: str,
        line: int | None,
        call: str,
        chain: tuple[str, ...] = (),
    ) -> None:
        super().__init__(f"{call} raised {type_name}: {message}")
        self.type_name = type_name
        self.bases = bases
        self.message = message
        self.line = line
        self.call = call
        self.chain = chain

    def is_a(self, type_name: str) -> bool:
        """Whether the exception is of the class of that name, or of one derived from it."""
        return type_name == self.type_name or type_name in self.bases


class OutOfMemory(SubmissionRaised):
    """The submission needed more memory than the limits allow; `type_name` is `MemoryError`."""


class CallTimedOut(WorkerError):
    """A call did not end within `seconds` of the submission's own time."""

    def __init__(self, call: str, seconds: float) -> None:
        super().__init__(f"{call} did not end within {seconds:g} s")
        self.call = call
        self.seconds = seconds


class WorkerDied(WorkerError):
    """The process ended during a call: with `exit_code`, or by the signal numbered `signal`."""

    def __init__(self, call: str, exit_code: int | None, signal: int | None = None) -> None:
        self.call = call
        self.exit_code = exit_code
        self.signal = signal
        super().__init__(f"the process ended during {call} ({self.cause})")

    @property
    def cause(self) -> str:
        """How it ended: `exit code 0`, `SIGSEGV`, or `unknown`."""
        if self.signal is not None:
            try:
                return signal.Signals(self.signal).name
            except ValueError:
                return f"signal {self.signal}"
        return "unknown" if self.exit_code is None else f"exit code {self.exit_code}"


class ProtocolViolation(WorkerError):
    """The process sent something that no honest worker sends; `problem` says what."""

    def __init__(self, call: str, problem: str) -> None:
        super().__init__(f"during {call} the worker sent {problem}")
        self.call = call
        self.problem = problem


class Unusable(WorkerError):
    """What the submission returned cannot be used for anything; `problem` says why.

    `call` is the call that returned it, where that is known.
    """

    def __init__(self, call: str, problem: str) -> None:
        super().__init__(f"what {call or 'a call'} returned cannot be used: {problem}")
        self.call = call
        self.problem = problem


class LoadFailed(WorkerError):
    """The submission could not be loaded, or lacks a name that was asked for.

    `type_name` is the exception's, where there was one; `line` is a line of the submission, and
    `column`, from 1, where in it a syntax error is.
    """

    KINDS: Final = frozenset(get_args(LoadFailure))

    def __init__(
        self,
        kind: LoadFailure,
        message: str,
        line: int | None = None,
        type_name: str | None = None,
        call: str = "",
        column: int | None = None,
    ) -> None:
        where = "" if line is None else f" (line {line})"
        super().__init__(f"{call}: {message}{where}" if call else f"{message}{where}")
        self.kind = kind
        self.message = message
        self.line = line
        self.type_name = type_name
        self.call = call
        self.column = column
