"""The trusted side of the conversation with a session: one request at a time, whatever happens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any, NoReturn, Protocol, TypeVar

import msgspec

from grader.worker import wire
from grader.worker.codec import HostDecoder, HostEncoder, Parts, Reference
from grader.worker.errors import (
    CallTimedOut,
    ProtocolViolation,
    Unusable,
    WorkerDied,
    WorkerError,
)
from grader.worker.limits import Limits
from grader.worker.link import BadFrame, Ended, Expired, Link
from grader.worker.part import type_name_of, use
from grader.worker.printed import Printed
from grader.worker.replies import error_of, refusal
from grader.worker.story import Call, Entry, Story, names_called
from grader.worker.values import OBJECT, BadValue, TooLarge

Expected = TypeVar("Expected")
Wording = Callable[[], str]


class Host(Protocol):
    """Starts and ends the process of a session."""

    def begin(self, source: bytes) -> Link: ...

    def end(self, patient: bool) -> int | None:
        """End it; the exit code (negative: a signal) if it had ended of itself.

        `patient` says that it is about to end: it has closed its pipes.
        """


class Conversation:
    """Requests to a session and their replies.

    Any failure but a plain exception of the submission ends the process; from then on every
    request raises that same failure, until `open` is called again.
    """

    def __init__(
        self, host: Host, deadline: float, limits: Limits, handle: Callable[..., Any]
    ) -> None:
        self.deadline = deadline
        self.deadlines: Mapping[str, float] = {}
        self._host = host
        self._limits = limits
        self._handle = handle
        self._link: Link | None = None
        self._printed: list[Printed] = []
        self._failure: WorkerError | None = None
        self._number = 0
        self._depth = 0
        self._submission_seconds = 0.0
        # (class, name): what is a method in one story is one in the next, and need not be asked
        self.methods: set[tuple[int, str]] = set()
        self.begin_story()

    @property
    def calls(self) -> list[Call]:
        return self._story.calls

    @property
    def is_open(self) -> bool:
        return self._link is not None

    @property
    def printed(self) -> str:
        if self._link is not None:
            self._link.printed.drain()
        return "".join(printed.text for printed in self._printed)

    @property
    def has_failed(self) -> bool:
        return self._failure is not None

    def open(self, source: bytes) -> None:
        """Start a process in which `source` will be loaded."""
        self._failure = None
        self.methods.clear()
        self._link = self._host.begin(source)
        self._printed.append(self._link.printed)

    def close(self) -> None:
        """End the process, if there is one."""
        self._end(WorkerDied("a call of a closed session", None))

    def begin_story(self) -> None:
        """Forget calls, handles and parts, on both sides."""
        self._story = Story(self._limits.depth)
        self._parts = Parts()
        depth = self._limits.depth
        self._encoder = HostEncoder(self._parts, self._story, depth)
        self._decoder = HostDecoder(self._parts, self._story, depth, self._make_handle)
        if self._link is not None:
            frame = wire.framed(wire.Forget(self.next_number()))
            try:
                self._link.send(frame, monotonic() + self.deadline)
            except (Expired, Ended):
                self._died("the start of a story")

    def next_number(self) -> int:
        self._number += 1
        return self._number

    def number_of(self, reference: Reference) -> int:
        """The number of an object of the present story. TypeError for an earlier one."""
        return self._encoder.number(reference)

    def number_in(self, reply: wire.Returned) -> int:
        """The number that a reply consists of."""
        if type(reply.value) is not int:
            self._violated("the load", "something else than the number of a module")
        return reply.value

    def name_of(self, reference: Reference) -> str:
        """The object's name in its story."""
        if reference.story is not self._story:
            return f"<an earlier {reference.type_name}>"
        return self._story.name(reference.number, reference.type_name)

    def call(
        self, number: int, name: str, callee: object, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Call an attribute of an object; `callee` shows as what is called."""
        encode = self._encoder.encode
        trees = [encode(value) for value in args]
        named = {key: encode(value) for key, value in kwargs.items()} if kwargs else kwargs
        request = wire.Call(self.next_number(), number, name, trees, named)
        story = self._story

        def wording() -> str:
            return story.call_text(repr(callee), trees, named)

        return self.decode(self.ask(request, wire.Returned, wording).value, wording)

    def decode(self, tree: wire.Tree, wording: Wording) -> Any:
        """The value of a tree from the worker; a malformed one ends the process."""
        try:
            return self._decoder.decode(tree)
        except TooLarge as error:
            raise Unusable(wording(), f"it has {error}") from None
        except Exception as error:
            problem = str(error) if isinstance(error, BadValue) else f"a malformed value ({error})"
            self._violated(wording(), problem)

    def ask(
        self,
        request: wire.Request,
        expected: type[Expected] | tuple[type[Expected], ...],
        wording: Wording,
        told: bool = True,
    ) -> Expected:
        """Send a request and return its reply. With `told`, it becomes part of the story."""
        entry = self._story.begin(wording, self._depth) if told else None
        try:
            reply = self._exchange(request, wording)
            if not isinstance(reply, expected):
                self._raise(reply, wording())
        except BaseException as error:
            if entry is not None:
                entry.error = error
            raise
        if entry is not None:
            self._note(entry, reply)
        return reply

    def _exchange(self, request: wire.Request, wording: Wording) -> Any:
        link = self._link
        if link is None:
            raise (self._failure or RuntimeError("load a submission first")).with_traceback(None)
        start = monotonic()
        seconds = self._seconds(request)
        deadline = start + seconds
        try:
            frame = wire.framed(request)
            if len(frame) > self._limits.frame:
                raise ValueError(f"the arguments of {wording()} take {len(frame)} bytes, too many")
            link.send(frame, deadline)
            while True:
                reply = wire.decode_from_worker(link.receive(deadline))
                if type(reply) is not wire.Asked:
                    break
                asked = monotonic()
                theirs = self._submission_seconds
                self._answer(reply, link)
                answered = monotonic()
                start += answered - asked
                deadline += answered - asked - (self._submission_seconds - theirs)
        except Expired:
            self._fail(CallTimedOut(wording(), seconds))
        except Ended:
            self._died(wording())
        except BadFrame as error:
            self._violated(wording(), str(error))
        except (msgspec.DecodeError, RecursionError) as error:
            self._violated(wording(), f"no message ({error})")
        except BaseException:
            # raised by a part, or Ctrl-C: the process waits for an answer that will not come
            self._end(WorkerDied(wording(), None))
            raise
        if reply.seq != request.seq:
            self._violated(wording(), f"reply {reply.seq} where {request.seq} was due")
        self._submission_seconds += monotonic() - start
        return reply

    def _seconds(self, request: wire.Request) -> float:
        """How long the reply to a request may take: what it calls may have a deadline of its own.

        Of an example, which may call several things, all calls count.
        """
        if not self.deadlines or not isinstance(request, wire.Call | wire.Example):
            return self.deadline
        called = [request.name] if isinstance(request, wire.Call) else names_called(request.source)
        return min([self.deadline, *(self.deadlines.get(name, self.deadline) for name in called)])

    def _answer(self, asked: wire.Asked, link: Link) -> None:
        """Do what the submission asks of a part, and tell it what came of that."""
        answer = self._use_part(asked)
        link.send(wire.framed(answer), monotonic() + self.deadline)

    def _use_part(self, asked: wire.Asked) -> wire.Answered | wire.Refused:
        story, where = self._story, f"a call of {asked.name}"
        part = self._part(asked.part, where)

        def wording() -> str:
            name = story.name(("part", asked.part), type_name_of(part))
            return story.call_text(f"{name}.{asked.name}", asked.args, asked.kwargs)

        args = asked.args and [self.decode(tree, wording) for tree in asked.args]
        kwargs = {name: self.decode(tree, wording) for name, tree in asked.kwargs.items()}
        if self._depth >= self._limits.nested_callbacks:
            return wire.Refused("RecursionError", "parts and submission call each other too deep")
        self._depth += 1
        entry = story.begin(wording, self._depth)
        try:
            result = use(part, asked.name, args, kwargs)
        except Exception as error:
            entry.error = error
            return refusal(error)
        finally:
            self._depth -= 1
        entry.result = tree = self._encoder.encode(result)
        return wire.Answered(tree)

    def _part(self, number: int, where: str) -> Any:
        try:
            return self._parts[number]
        except BadValue as error:
            self._violated(where, str(error))

    def _note(self, entry: Entry, reply: Any) -> None:
        if isinstance(reply, wire.Returned):
            tree = entry.result = reply.value
            if type(tree) is list and len(tree) > 2 and tree[0] == OBJECT:
                entry.assigns = type(tree[1]) is int and not self._story.knows(tree[1])
        elif isinstance(reply, wire.Member):
            self._story.strike(entry)  # the call that follows tells it

    def _make_handle(self, reference: Reference) -> Any:
        self._story.name(reference.number, reference.type_name)
        return self._handle(self, reference)

    def _raise(self, reply: Any, call: str) -> NoReturn:
        error = error_of(reply, call)
        if error is None:
            self._violated(call, f"a {type(reply).__name__} that does not answer the request")
        raise error

    def _violated(self, call: str, problem: str) -> NoReturn:
        self._fail(ProtocolViolation(call, problem))

    def _died(self, call: str) -> NoReturn:
        code = self._end(WorkerDied(call, None), patient=True)
        exit_code = code if code is not None and code >= 0 else None
        self._fail(WorkerDied(call, exit_code, -code if code is not None and code < 0 else None))

    def _fail(self, failure: WorkerError) -> NoReturn:
        self._end(failure)
        self._failure = failure
        raise failure from None

    def _end(self, failure: WorkerError, patient: bool = False) -> int | None:
        if self._link is None:
            return None
        self._failure = failure
        link, self._link = self._link, None
        code = self._host.end(patient)
        link.close()
        return code
