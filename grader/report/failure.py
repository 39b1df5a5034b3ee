"""A failure in words: the story of the smallest failing case, and what came out of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.padding import Padding
from rich.text import Text

from grader.report.console import harmless
from grader.report.values import compared
from grader.report.words import counted
from grader.verdict import (
    AnyFailure,
    BrokeProtocol,
    Call,
    Died,
    Differed,
    ExampleDiffered,
    Mismatched,
    NotImplementedYet,
    OutOfMemory,
    Raised,
    Story,
    TimedOut,
    Unmet,
    Unusable,
    WrongError,
)

ENGINE, YOURS = "the engine:", "yours:"
HEAD_CALLS, TAIL_CALLS = 2, 10
INDENT = 5
MOST_LINES, MOST_CHARACTERS = 6, 480
_LEFT_OUT = re.compile(r"… (\d+) more calls")


def tell(failure: AnyFailure, width: int, whole: bool = False) -> Iterator[Text | Padding]:
    """The story and its outcome, line by line, for `width` columns.

    Of a long story the first calls and the last are told, unless the `whole` is asked for.
    """
    yield from _story(failure.story, width, whole)
    for part in _outcome(failure, width - INDENT):
        yield Padding(part, (0, 0, 0, INDENT), expand=False)


def in_one_line(failure: AnyFailure) -> str:
    """What went wrong, short enough to stand behind a check's title; mostly nothing."""
    match failure:
        case NotImplementedYet(name=name):
            return f"{name or 'a part'} is not written yet"
        case Raised(type_name=name):
            return f"raised {name}"
        case TimedOut(seconds=seconds):
            return f"took longer than {seconds:g} s"
    return {Died: "your code's process ended", OutOfMemory: "too much memory"}.get(
        type(failure), ""
    )


def _story(story: Story, width: int, whole: bool) -> Iterator[Text]:
    for sentence in story.setting:
        yield Text(harmless(sentence))
    calls = list(_numbered(story.calls))
    telling = {_called(call) for call in story.calls if call.result not in ("", "None")}
    hidden = 0 if whole else max(0, len(calls) - HEAD_CALLS - TAIL_CALLS)
    for position, (number, call) in enumerate(calls):
        if hidden and position == HEAD_CALLS:
            yield Text(f"    … {counted(hidden, 'call')} more (all of them: --full)", style="quiet")
        if not HEAD_CALLS <= position < HEAD_CALLS + hidden:
            result = _brief(call.result) if _tells(call, telling) else ""
            yield _call(number, call, result, width)


def _numbered(calls: list[Call]) -> Iterator[tuple[int | None, Call]]:
    """Calls with their numbers; where the runner left some out, counting jumps over them."""
    number = 1
    for call in calls:
        if left_out := _LEFT_OUT.fullmatch(call.text):
            yield None, call
            number += int(left_out[1])
        else:
            yield number, call
            number += 1


def _called(call: Call) -> str:
    """`pool.get_new_blocks` of `blocks = pool.get_new_blocks(3)`."""
    return call.text.partition("(")[0].rpartition("= ")[2]


def _tells(call: Call, telling: set[str]) -> bool:
    """Whether the result is worth a word; what the failing call gave is told below it.

    A made object's name is no news, and None is none from a call that never gives anything else.
    """
    if call.failing or call.text.startswith(f"{call.result} = "):
        return False
    return call.result not in ("", "None") or (bool(call.result) and _called(call) in telling)


def _call(number: int | None, call: Call, result: str, width: int) -> Text:
    """`▸ 3  pool.free_order() → [1, 2]`."""
    if number is None:
        return Text(f"    {call.text}", style="quiet")
    mark = ("▸ ", "bad") if call.failing else "  "
    text = Text.assemble(mark, (f"{number:>2} ", "quiet"), harmless(call.text))
    if not result:
        return text
    arrow = f"  → {result}"
    if text.cell_len + len(arrow) > width:
        arrow = f"\n{' ' * INDENT}→ {result}"
    return text.append(arrow, style="quiet")


def _outcome(failure: AnyFailure, width: int) -> Iterator[Text]:
    match failure:
        case Mismatched():
            yield compared(failure.expected, failure.actual, (ENGINE, YOURS), width)
            yield from _because(failure.because)
        case Differed():
            expected = _value_or_error(failure.expected, failure.expected_error)
            actual = _value_or_error(failure.actual, failure.actual_error)
            yield compared(expected, actual, (ENGINE, YOURS), width)
        case Unmet():
            yield Text(f"This does not hold: {harmless(failure.because)}")
            for name, value in failure.facts.items():
                yield Text(f"  {name} = {_brief(value)}")
        case WrongError():
            yield _wrong_error(failure)
            yield from _because(failure.because)
        case Raised():
            where = f" (line {failure.line} of your file)" if failure.line else ""
            message = f": {_brief(failure.message)}" if failure.message else ""
            yield Text(f"{failure.type_name}{message}{where}", style="bad")
        case NotImplementedYet():
            where = f", line {failure.line}" if failure.line else ""
            yield Text(f"{failure.name or 'This part'} is not written yet{where}.")
            if failure.hint:
                yield Text(f"To do: {harmless(failure.hint)}")
        case ExampleDiffered():
            yield from _example(failure, width)
        case Unusable():
            yield from _unusable(failure)
        case TimedOut() | Died() | OutOfMemory() | BrokeProtocol():
            yield from _trouble(failure)


def _trouble(failure: TimedOut | Died | OutOfMemory | BrokeProtocol) -> Iterator[Text]:
    """A call that never gave a result."""
    match failure:
        case TimedOut():
            yield Text(
                f"{_call_named(failure.call)} did not come back within {failure.seconds:g} s."
            )
            yield Text("A loop that never ends? Look at what is to make it stop.")
        case Died():
            yield Text(
                f"Your code's process ended in {_call_named(failure.call)}: {_end(failure)}."
            )
            yield Text("A lesson never ends its own process; look for exit() and os._exit().")
        case OutOfMemory():
            yield Text(f"{_call_named(failure.call)} wanted more memory than a lesson may have.")
        case BrokeProtocol():
            yield Text(f"{_call_named(failure.call)}: {harmless(failure.problem)}.")
            yield Text("Something in your file writes to the grader's own channel.")


def _unusable(failure: Unusable) -> Iterator[Text]:
    """What came back is not what belongs there."""
    call = _call_named(failure.call)
    if failure.belongs:
        came = "returned" if "(" in call else "is"
        value = _brief(failure.value)
        yield Text(f"{call} {came} {value}; {harmless(failure.belongs)} belongs there.")
        if failure.value == "None" and came == "returned":
            yield Text("Is a return missing?")
    else:
        yield Text(f"The check cannot go on after {call}: what it gave cannot be used.")
        yield Text(harmless(failure.problem), style="quiet")


def _because(because: str) -> Iterator[Text]:
    if because:
        yield Text(harmless(because), style="italic")


def _value_or_error(value: str, error: str | None) -> str:
    return value if error is None else f"raises {error}"


def _wrong_error(failure: WrongError) -> Text:
    text = Text.assemble((f"{ENGINE} ", "quiet"), f"raises {failure.expected}\n")
    text.append(f"{YOURS.ljust(len(ENGINE))} ", style="quiet")
    if failure.raised is not None:
        message = f": {_brief(failure.message)}" if failure.message else ""
        return text.append(f"raises {failure.raised}{message}", style="bad")
    return text.append(f"returns {_brief(failure.value or 'None')}", style="bad")


def _brief(text: str) -> str:
    """A message or a value without anything harmful, and of no more than a few lines."""
    text = harmless(text)
    if len(text) > MOST_CHARACTERS:
        text = f"{text[:MOST_CHARACTERS]}…"
    lines = text.splitlines()
    return "\n".join(lines if len(lines) <= MOST_LINES else [*lines[:MOST_LINES], "…"])


def _call_named(call: str) -> str:
    return harmless(call) if call else "A call"


def _end(failure: Died) -> str:
    if failure.signal is not None:
        return f"by signal {failure.signal}"
    return f"with exit code {failure.exit_code}"


def _example(failure: ExampleDiffered, width: int) -> Iterator[Text]:
    if not any(call.failing for call in failure.story.calls):
        source = harmless(failure.source.rstrip()).splitlines()
        marked = [f"{'...' if number else '>>>'} {line}" for number, line in enumerate(source)]
        yield Text("\n".join(marked))
    expected, actual = failure.expected.rstrip(), failure.actual.rstrip()
    if "\n" in expected or "\n" in actual:
        for label, value in (("the example:", expected), (YOURS, actual)):
            yield Text(label, style="quiet")
            yield Text(harmless(value) or "(nothing)")
        return
    yield compared(expected or "(nothing)", actual or "(nothing)", ("the example:", YOURS), width)
