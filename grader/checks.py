"""What a hidden suite is written with: ``check``, ``expect``, ``compare`` and their kin.

A suite speaks to a submission through the fixture ``lesson`` alone, so that the same suite runs
on a worker's proxies and on a plainly imported module. Every failure raised here is an object
that carries its data; putting it into words is the report's business.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NoReturn, TypeVar
from zlib import crc32

from hypothesis import is_hypothesis_test as drawn_by_hypothesis
from hypothesis import seed, settings

from grader.drawing import EXAMPLES, SETTINGS
from grader.equality import same
from grader.handing import hand_in
from grader.showing import shown

__all__ = [
    "check",
    "compare",
    "expect",
    "expect_error",
    "hand_in",
    "new_story",
    "quickest",
    "require",
    "story",
]

Test = TypeVar("Test", bound=Callable[..., None])

# Errors that mean a bug in the engine model itself, never a rule that it states.
_BUGS = (TypeError, AttributeError, NameError, ImportError, NotImplementedError)


@dataclass(frozen=True)
class Check:
    """What a suite says of one of its checks."""

    points: int
    rule: str
    needs: tuple[str, ...]


class Mismatch(AssertionError):
    """A call gave ``actual`` where the rule wants ``expected``."""

    def __init__(self, expected: object, actual: object, because: str = "") -> None:
        super().__init__(expected, actual, because)
        self.expected, self.actual, self.because = expected, actual, because

    def __str__(self) -> str:
        got = f"expected {shown(self.expected)}, got {shown(self.actual)}"
        return f"{got}. {self.because}".strip()


class Unmet(AssertionError):
    """A property does not hold; ``facts`` are the values it was judged by."""

    def __init__(self, because: str, facts: dict[str, object]) -> None:
        super().__init__(because, facts)
        self.because, self.facts = because, facts

    def __str__(self) -> str:
        return f"{self.because} {shown(self.facts)}" if self.facts else self.because


class WrongError(AssertionError):
    """A call should have raised ``expected``; it raised ``raised``, or returned ``value``."""

    def __init__(
        self, expected: str, raised: str | None, message: str, value: object, because: str = ""
    ) -> None:
        super().__init__(expected, raised, message, value, because)
        self.expected, self.raised, self.message = expected, raised, message
        self.value, self.because = value, because

    def __str__(self) -> str:
        got = f"{self.raised}: {self.message}" if self.raised else shown(self.value)
        return f"expected {self.expected}, got {got}. {self.because}".strip()


class Differs(AssertionError):
    """A call on the submission and the same call on the engine model came out differently.

    ``expected`` and ``actual`` are values, or ``Raised`` where a side raised.
    """

    def __init__(self, call: str, expected: object, actual: object) -> None:
        super().__init__(call, expected, actual)
        self.call, self.expected, self.actual = call, expected, actual

    def __str__(self) -> str:
        gives = f"the engine gives {shown(self.expected)}, yours {shown(self.actual)}"
        return f"{self.call}: {gives}"


@dataclass(frozen=True)
class Raised:
    """Stands for a result when a call raised: the error's class name."""

    type_name: str


def check(
    points: int, rule: str, needs: Iterable[str] = (), examples: int = EXAMPLES
) -> Callable[[Test], Test]:
    """Make a test function a check worth ``points``.

    ``rule`` is the heading in the lesson's text under which the rule is stated, ``needs`` names
    checks of the same suite without which this one would only report the same bug again, and
    ``examples`` is how many cases Hypothesis draws. The docstring's first line is the title.
    It stands above ``@given``.
    """

    def mark(test: Test) -> Test:
        vars(test)["check"] = Check(points, rule, tuple(needs))
        if drawn_by_hypothesis(test):
            # By name, so that the cases stay the same when the check's text changes a little.
            return seed(crc32(test.__qualname__.encode()))(
                settings(SETTINGS, max_examples=examples)(test)
            )
        return test

    return mark


def expect(actual: object, expected: object, because: str = "") -> None:
    """Require that a result is exactly what the rule gives, or raise ``Mismatch``.

    >>> expect([1, 2], [1, 2])
    >>> try:
    ...     expect((1, 2), [1, 2])
    ... except Mismatch as mismatch:
    ...     print(mismatch)
    expected [1, 2], got (1, 2).
    """
    if not same(actual, expected):
        raise Mismatch(expected, actual, because)


def expect_error(call: Callable[[], object], name: str, because: str = "") -> None:
    """Require that ``call()`` raises the error called ``name`` or one derived from it.

    >>> expect_error(lambda: {}[1], "LookupError")
    """
    try:
        value = call()
    except Exception as error:
        names = error_names(error)
        if name in names:
            return
        if not names or "NotImplementedError" in names:
            raise
        raise WrongError(name, names[0], str(error), None, because) from error
    raise WrongError(name, None, "", value, because)


def require(condition: bool, because: str, **facts: object) -> None:
    """Require a property; ``facts`` are the values that let a reader judge it.

    >>> require(2 < 3, "The usage never exceeds one.", usage=0.5)
    """
    if not condition:
        raise Unmet(because, facts)


def quickest(call: Callable[[Any], object], arguments: Iterable[Any]) -> float:
    """The shortest time that ``call`` takes with any of the arguments, in seconds.

    The shortest, since whatever else a busy machine does only adds to a time. Compare two of
    them, and give room: a call over a pipe takes some 30 microseconds by itself.

    >>> quickest(str, [1, 2, 3]) < 1
    True
    """
    times = []
    for argument in arguments:
        started = perf_counter()
        call(argument)
        times.append(perf_counter() - started)
    return min(times)


def story(*sentences: str) -> None:
    """Add sentences to the setting of the current case, to be told if it fails."""
    _setting.extend(sentences)


def new_story() -> None:
    """Start the story again, in the middle of a case: nothing made so far is used any more.

    For a check that tries one thing after another, so that a failure tells of its own thing alone.
    """
    _begin[-1]()


def begin_story() -> None:
    """Forget the setting: a new case starts."""
    _setting.clear()


@contextmanager
def stories_begun_by(begin: Callable[[], None]) -> Iterator[None]:
    """Within it, a check's ``new_story`` calls ``begin``, which has ``begin_story`` to call.

    >>> story("Eight blocks.")
    >>> with stories_begun_by(begin_story):
    ...     new_story()
    >>> setting()
    []
    """
    _begin.append(begin)
    try:
        yield
    finally:
        _begin.pop()


def setting() -> list[str]:
    """The sentences of the current case so far."""
    return list(_setting)


def compare(theirs: Any, reference: Any) -> Any:
    """A twin: each call on it is made on the submission's object and on the engine's.

    Equal results are returned, equal errors come back as ``Raised``; anything else raises
    ``Differs``. Reading an attribute compares its value. A twin may be an argument of a twin's
    call: each side gets its own half.
    """
    return Twin(theirs, reference)


class Twin:
    """See ``compare``; ``theirs`` and ``reference`` are its two halves."""

    def __init__(self, theirs: Any, reference: Any) -> None:
        self.theirs, self.reference = theirs, reference

    def __repr__(self) -> str:
        return repr(self.reference)

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self.reference, name)
        if not callable(attribute):
            return _agree(lambda: name, lambda: getattr(self.theirs, name), lambda: attribute)

        def call(*args: object, **kwargs: object) -> object:
            return _agree(
                lambda: _call_text(name, args, kwargs),
                lambda: getattr(self.theirs, name)(
                    *(_half(a, "theirs") for a in args),
                    **{key: _half(a, "theirs") for key, a in kwargs.items()},
                ),
                lambda: attribute(
                    *(_half(a, "reference") for a in args),
                    **{key: _half(a, "reference") for key, a in kwargs.items()},
                ),
            )

        return call


def error_names(error: Exception) -> list[str]:
    """Class name of an error the submission raised, then those of its bases.

    Empty for an error that is not the submission's doing in this sense: a deadline, a death.
    """
    if type(error).__module__.startswith("grader.worker."):
        type_name = getattr(error, "type_name", None)
        return [type_name, *getattr(error, "bases", ())] if type_name else []
    if isinstance(error, Mismatch | Unmet | WrongError | Differs):
        return []
    return [base.__name__ for base in type(error).__mro__]


def _agree(
    wording: Callable[[], str], theirs: Callable[[], object], reference: Callable[[], object]
) -> object:
    expected: object
    try:
        expected = reference()
    except _BUGS:
        raise
    except Exception as error:
        expected = Raised(type(error).__name__)
    try:
        actual = theirs()
    except Exception as error:
        names = error_names(error)
        if not names or "NotImplementedError" in names:
            raise
        if isinstance(expected, Raised) and expected.type_name in names:
            return expected
        _differ(wording(), expected, Raised(names[0]), error)
    if isinstance(expected, Raised) or not same(actual, expected):
        _differ(wording(), expected, actual, None)
    return expected


def _differ(text: str, expected: object, actual: object, cause: Exception | None) -> NoReturn:
    raise Differs(text, expected, actual) from cause


def _half(argument: object, side: str) -> object:
    """One side's own copy of an argument, so that neither can change the other's."""
    if isinstance(argument, Twin):
        return getattr(argument, side)
    if isinstance(argument, list):
        return [_half(item, side) for item in argument]
    if isinstance(argument, dict):
        return {key: _half(item, side) for key, item in argument.items()}
    return set(argument) if isinstance(argument, set) else argument


def _call_text(name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> str:
    texts = [shown(argument) for argument in args]
    texts += [f"{key}={shown(value)}" for key, value in kwargs.items()]
    return f"{name}({', '.join(texts)})"


_setting: list[str] = []
_begin: list[Callable[[], None]] = [begin_story]
