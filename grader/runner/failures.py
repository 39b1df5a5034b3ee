"""What a check or an example raised, as the failure that the verdict carries."""

import re
from collections.abc import Sequence

import pytest

from grader import checks, verdict
from grader.runner.promises import Promises
from grader.showing import shown
from grader.verdict import AnyFailure, Call, Story
from grader.worker import Call as Called
from grader.worker import (
    CallTimedOut,
    LoadFailed,
    OutOfMemory,
    ProtocolViolation,
    SubmissionRaised,
    Unusable,
    WorkerDied,
    WorkerError,
)

# What ends the search for a smaller case: it would cost as much again and tell nothing more.
FINAL = (
    verdict.TimedOut,
    verdict.Died,
    verdict.OutOfMemory,
    verdict.BrokeProtocol,
    verdict.NotImplementedYet,
)

# Seconds for all that a check does; far above what a submission is given for one call.
CHECK_TIMEOUT = 30

# A suite that does this is wrong with any submission.
_OF_THE_SUITE = (NameError, ImportError, SyntaxError)

_KEPT_CALLS = 20
_LONGEST_PROBLEM = 300
_HINT = re.compile(r"(?P<name>[A-Za-z_][\w.]*): (?P<hint>.+)", re.DOTALL)


def failure_of(
    error: BaseException,
    story: Story,
    calls: Sequence[Called] = (),
    promises: Promises | None = None,
) -> AnyFailure | None:
    """The failure that an exception stands for; None where it is not the submission's doing.

    Anything that a suite raises after one of the submission's ``calls`` is the submission's doing:
    with the solution the suite does not raise it. ``promises`` tell which call to blame.
    """
    if isinstance(error, Unusable) or (calls and _is_misuse(error)):
        return _unusable(error, story, calls, promises)
    told = _told(error, story)
    if isinstance(error, WorkerError):
        return _of_worker(error, told)
    match error:
        case checks.Mismatch():
            return verdict.Mismatched(
                story=told,
                expected=shown(error.expected),
                actual=shown(error.actual),
                because=error.because,
            )
        case checks.Differs():
            expected, expected_error = _side(error.expected)
            actual, actual_error = _side(error.actual)
            return verdict.Differed(
                story=told,
                call=error.call,
                expected=expected,
                actual=actual,
                expected_error=expected_error,
                actual_error=actual_error,
            )
        case checks.Unmet():
            facts = {name: shown(value) for name, value in error.facts.items()}
            return verdict.Unmet(story=told, because=error.because, facts=facts)
        case checks.WrongError():
            return verdict.WrongError(
                story=told,
                expected=error.expected,
                raised=error.raised,
                message=error.message,
                value=None if error.raised else shown(error.value),
                because=error.because,
            )
        case pytest.fail.Exception() if told.calls:
            # The guard of this process rang: slow calls, each in time by itself, or more in what
            # they returned than a suite can look at.
            call = f"the calls up to {told.calls[-1].text}"
            return verdict.TimedOut(story=told, call=call, seconds=CHECK_TIMEOUT)
    return None


def _is_misuse(error: BaseException) -> bool:
    """Whether it is an error of the language, or of a library, in the suite's own frames."""
    verdicts = (WorkerError, checks.Mismatch, checks.Differs, checks.Unmet, checks.WrongError)
    return isinstance(error, Exception) and not isinstance(error, (*verdicts, *_OF_THE_SUITE))


def _unusable(
    error: BaseException, story: Story, calls: Sequence[Called], promises: Promises | None
) -> verdict.Unusable:
    problem = error.problem if isinstance(error, Unusable) else problem_of(error)
    broken = promises.broken_by(calls) if promises else None
    if isinstance(error, Unusable) and error.call:
        broken = None  # it is known already
    number = broken.number if broken else _blamed(error, story.calls)
    told = _with_blamed(story, number)
    if broken is None:
        return verdict.Unusable(story=told, call=_text_of(error, story, number), problem=problem)
    return verdict.Unusable(
        story=told,
        call=calls[broken.number].text,
        value=shown(calls[broken.number].result),
        belongs=broken.belongs,
        problem=problem,
    )


def problem_of(error: BaseException) -> str:
    """An error in a line, of a length that a page has room for."""
    try:
        message = " ".join(str(error).split())
    except Exception:  # what it is about cannot be written
        message = ""
    if len(message) > _LONGEST_PROBLEM:
        message = f"{message[:_LONGEST_PROBLEM]}…"
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def _text_of(error: BaseException, story: Story, number: int | None) -> str:
    if isinstance(error, Unusable) and error.call:
        return error.call
    return story.calls[number].text if number is not None else ""


def not_implemented(message: str, story: Story, line: int | None = None) -> AnyFailure:
    """The failure of a part that is still the stub's, from its ``<name>: <hint>``."""
    matched = _HINT.fullmatch(message)
    if matched is None:
        return verdict.NotImplementedYet(story=story, name="", hint=message, line=line)
    return verdict.NotImplementedYet(
        story=story, name=matched["name"], hint=matched["hint"], line=line
    )


def _of_worker(error: WorkerError, story: Story) -> AnyFailure | None:
    match error:
        case OutOfMemory():
            return verdict.OutOfMemory(story=story, call=error.call)
        case SubmissionRaised() if error.is_a("NotImplementedError"):
            return not_implemented(error.message, story, error.line)
        case SubmissionRaised():
            return verdict.Raised(
                story=story,
                type_name=error.type_name,
                message=error.message,
                line=error.line,
                call=error.call,
            )
        case LoadFailed():
            return verdict.Raised(
                story=story,
                type_name=error.type_name or "AttributeError",
                message=error.message,
                line=error.line,
                call=error.call,
            )
        case CallTimedOut():
            return verdict.TimedOut(story=story, call=error.call, seconds=error.seconds)
        case WorkerDied():
            by_signal = error.cause if error.signal is not None else None
            return verdict.Died(
                story=story, call=error.call, exit_code=error.exit_code, signal=by_signal
            )
        case ProtocolViolation():
            return verdict.BrokeProtocol(story=story, call=error.call, problem=error.problem)
    return None


def _side(value: object) -> tuple[str, str | None]:
    if isinstance(value, checks.Raised):
        return "", value.type_name
    return shown(value), None


def _told(error: BaseException, story: Story) -> Story:
    """The story with the call that is to blame marked, and the middle of a long one left out."""
    return _with_blamed(story, _blamed(error, story.calls))


def _with_blamed(story: Story, blamed: int | None) -> Story:
    calls = list(story.calls)
    if blamed is not None:
        calls[blamed] = Call(calls[blamed].text, calls[blamed].result, failing=True)
    if len(calls) > 2 * _KEPT_CALLS:
        left_out = len(calls) - 2 * _KEPT_CALLS
        middle = Call(f"… {left_out} more calls", "")
        calls = [*calls[:_KEPT_CALLS], middle, *calls[-_KEPT_CALLS:]]
    return Story(story.setting, calls)


def _blamed(error: BaseException, calls: Sequence[Call]) -> int | None:
    """Which of the suite's calls, never one that the submission made meanwhile, on a part."""
    if isinstance(error, checks.Unmet):
        return None  # a property may rest on any of the calls
    blamed = [number for number, call in enumerate(calls) if not call.text.startswith(" ")]
    if isinstance(error, checks.Mismatch):
        gave = _giving(shown(error.actual))
        blamed = [number for number in blamed if gave.fullmatch(calls[number].result)]
    return blamed[-1] if blamed else None


def _giving(value: str) -> re.Pattern[str]:
    """Matches a result that is the value, or has it for a field."""
    value = re.escape(value)
    return re.compile(rf"{value}|\w+\((?:.*, )?\w+={value}(?:, \w+=.*)?\)", re.DOTALL)
