"""The result of grading a submission, as plain data that goes to JSON and back.

Values of a submission are kept as the text a person reads (``repr``, shortened), since they can
be anything. Words around them are the report's.
"""

from typing import Literal

import msgspec

Status = Literal["not_started", "cannot_load", "failed", "passed", "grader_error"]
Outcome = Literal["passed", "failed", "blocked", "error"]


class Call(msgspec.Struct, frozen=True):
    """One call on the submission: what was called, what came back, and whether it is to blame."""

    text: str
    result: str
    failing: bool = False


class Story(msgspec.Struct, frozen=True):
    """The smallest failing case: its setting in sentences, then the calls in order."""

    setting: list[str] = []
    calls: list[Call] = []


class Failure(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """Why a check or an example failed; one subclass for each reason."""

    story: Story = Story()


class Mismatched(Failure, frozen=True, tag=True, kw_only=True):
    """A result is not what the rule gives."""

    expected: str
    actual: str
    because: str = ""


class Differed(Failure, frozen=True, tag=True, kw_only=True):
    """The engine model and the submission came out differently on the same call.

    Where a side raised, ``expected_error`` or ``actual_error`` names the error and the text of
    that side is empty.
    """

    call: str
    expected: str = ""
    actual: str = ""
    expected_error: str | None = None
    actual_error: str | None = None


class Unmet(Failure, frozen=True, tag=True, kw_only=True):
    """A property does not hold; ``facts`` are what it was judged by."""

    because: str
    facts: dict[str, str] = {}


class WrongError(Failure, frozen=True, tag=True, kw_only=True):
    """An error was due; another one came (``raised``), or none and a ``value``."""

    expected: str
    raised: str | None = None
    message: str = ""
    value: str | None = None
    because: str = ""


class Raised(Failure, frozen=True, tag=True, kw_only=True):
    """The submission raised where it should not; ``line`` is one of its own file."""

    type_name: str
    message: str
    line: int | None = None
    call: str = ""


class NotImplementedYet(Failure, frozen=True, tag=True, kw_only=True):
    """The call came to a part that is still the stub's; ``name`` says which."""

    name: str
    hint: str = ""
    line: int | None = None


class TimedOut(Failure, frozen=True, tag=True, kw_only=True):
    """A call did not come back in time."""

    call: str
    seconds: float


class Died(Failure, frozen=True, tag=True, kw_only=True):
    """The submission's process ended in a call, by ``exit_code`` or by ``signal``."""

    call: str
    exit_code: int | None = None
    signal: str | None = None


class OutOfMemory(Failure, frozen=True, tag=True, kw_only=True):
    """A call wanted more memory than a submission may have."""

    call: str


class BrokeProtocol(Failure, frozen=True, tag=True, kw_only=True):
    """The submission's process answered what no submission answers by itself."""

    call: str
    problem: str


class Unusable(Failure, frozen=True, tag=True, kw_only=True):
    """A check could not go on with what came back from ``call``.

    ``value`` is what that was and ``belongs`` what the stub says there, where they are known;
    ``problem`` is what came of it.
    """

    call: str = ""
    value: str = ""
    belongs: str = ""
    problem: str = ""


class ExampleDiffered(Failure, frozen=True, tag=True, kw_only=True):
    """An example of a docstring printed something else; ``line`` is one of the stub."""

    source: str
    expected: str
    actual: str
    line: int


AnyFailure = (
    Mismatched
    | Differed
    | Unmet
    | WrongError
    | Raised
    | NotImplementedYet
    | TimedOut
    | Died
    | OutOfMemory
    | BrokeProtocol
    | Unusable
    | ExampleDiffered
)


class ExampleResult(msgspec.Struct, frozen=True):
    """The examples of one docstring of the stub; ``name`` is the qualified name it stands in."""

    name: str
    outcome: Outcome
    failure: AnyFailure | None = None


class CheckResult(msgspec.Struct, frozen=True):
    """One check. ``needs`` are the checks that blocked it, if any did.

    ``error`` tells, where the outcome is ``error``, what is wrong with the suite.
    """

    name: str
    title: str
    points: int
    earned: int
    outcome: Outcome
    rule: str
    failure: AnyFailure | None = None
    blocked_by: list[str] = []
    error: str | None = None
    seconds: float = 0.0


class LoadError(msgspec.Struct, frozen=True, tag=True):
    """Why a submission could not be loaded: where, what, and what to do about it.

    ``source`` is the text of the line, and ``column``, from 1, where in it a syntax error is.
    """

    kind: str
    file: str
    line: int | None
    cause: str
    fix: str
    source: str = ""
    column: int | None = None


class GraderError(msgspec.Struct, frozen=True, tag=True):
    """The grader itself failed; never the learner's doing. ``detail`` is for its authors."""

    cause: str
    detail: str = ""


class Verdict(msgspec.Struct, frozen=True):
    """What grading a submission came to. ``printed`` is what it wrote to its own output."""

    lesson: str
    status: Status
    points: int
    max_points: int
    examples: list[ExampleResult] = []
    checks: list[CheckResult] = []
    printed: str = ""
    seconds: float = 0.0
    error: LoadError | GraderError | None = None

    @property
    def first_failure(self) -> CheckResult | None:
        """The first check, in the suite's order, that failed."""
        return next((check for check in self.checks if check.outcome == "failed"), None)


def encode(verdict: Verdict) -> bytes:
    """The verdict as JSON."""
    return msgspec.json.encode(verdict)


def decode(data: bytes) -> Verdict:
    """The verdict from its JSON.

    Raises:
        msgspec.DecodeError: it is not a verdict's JSON.
    """
    return msgspec.json.decode(data, type=Verdict)
