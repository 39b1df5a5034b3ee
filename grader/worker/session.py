"""A session: submissions loaded into one process, and the story of what was done with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from grader.source import Source, Unreadable, printable, read_source
from grader.worker import wire
from grader.worker.conversation import Conversation, Host
from grader.worker.errors import LoadFailed, ProtocolViolation
from grader.worker.lesson import Handle, Lesson
from grader.worker.limits import Limits
from grader.worker.story import Call


@dataclass(frozen=True)
class ExampleResult:
    """What an example of a docstring printed, and the end of its traceback if it raised."""

    output: str
    exception: str | None


class Session:
    """Loads submissions and calls them. Made by `Worker.session`.

    Each call may take `deadline` seconds of the submission's own time. After a call that ended
    the process, every further call raises the same error, until `begin_story` starts afresh.
    """

    def __init__(self, host: Host, deadline: float, limits: Limits) -> None:
        self._conversation = Conversation(host, deadline, limits, Handle)
        self._lessons: list[Lesson] = []

    @property
    def deadline(self) -> float:
        """Seconds of its own time that the submission has for one call."""
        return self._conversation.deadline

    @deadline.setter
    def deadline(self, seconds: float) -> None:
        self._conversation.deadline = seconds

    @property
    def deadlines(self) -> Mapping[str, float]:
        """Functions, classes and methods, by name, that have less time than `deadline`."""
        return self._conversation.deadlines

    @deadlines.setter
    def deadlines(self, seconds: Mapping[str, float]) -> None:
        self._conversation.deadlines = seconds

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def calls(self) -> list[Call]:
        """The calls since `begin_story`, each with its result or error."""
        return self._conversation.calls

    @property
    def printed(self) -> str:
        """What the submission has printed; of very much, the start and the end."""
        return self._conversation.printed

    def load(self, file: Source | Path | str, name: str) -> Lesson:
        """Load the file as the module `name`. Raises LoadFailed, or how the process ended."""
        source = file if isinstance(file, Source) else _read(Path(file))
        if not self._conversation.is_open and not self._lessons:
            self._conversation.open(source.content)
        lesson = Lesson(self._conversation, name, printable(source.path), source.content)
        lesson._load()
        self._lessons.append(lesson)
        return lesson

    def begin_story(self) -> None:
        """Forget the calls and objects so far; if the process has ended, load all into a new one.

        Handles and records of the former story can no longer be passed in.
        """
        if self._conversation.has_failed and self._lessons:
            self._conversation.open(self._lessons[0]._source)
            for lesson in self._lessons:
                lesson._load()
        self._conversation.begin_story()

    def run_example(self, namespace_key: str, source: str) -> ExampleResult:
        """Run one statement as at the prompt, in the namespace of that name.

        A namespace begins as a copy of what the module loaded last holds.
        """
        if not self._lessons:
            raise RuntimeError("load a submission before running its examples")
        conversation, number = self._conversation, self._lessons[-1]._number
        request = wire.Example(conversation.next_number(), number, namespace_key, source)
        reply = conversation.ask(request, wire.Returned, source.strip, told=False)
        match conversation.decode(reply.value, source.strip):
            case (str(output), str() | None as exception):
                return ExampleResult(_as_text(output), exception and _as_text(exception))
        raise ProtocolViolation(source.strip(), "an example's result of no known form")

    def close(self) -> None:
        """End the process and all that it started. What it printed can still be read."""
        self._conversation.close()


def _as_text(text: str) -> str:
    """The text, with half characters written out: they could not be written to a report."""
    return text.encode("utf-8", "backslashreplace").decode()


def _read(path: Path) -> Source:
    try:
        return read_source(path)
    except Unreadable as error:
        raise LoadFailed("missing_file", str(error)) from None
