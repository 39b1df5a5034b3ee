"""The session's side of the conversation: serves requests on the submission's objects."""

from __future__ import annotations

import builtins
import contextlib
import os
import sys
import threading
from operator import attrgetter
from types import ModuleType
from typing import Any, NoReturn

from grader.worker import wire
from grader.worker.example import run_example
from grader.worker.objects import Objects
from grader.worker.submission import CannotLoad, describe, load
from grader.worker.values import too_large


class Child:
    """Answers the trusted side until it closes the pipe."""

    def __init__(self, reader: int, writer: int, max_frame: int, max_depth: int) -> None:
        self._reader = reader
        self._writer = writer
        self._max_frame = max_frame
        self._objects = Objects(self._ask, max_depth)
        self._namespaces: dict[tuple[int, str], dict[str, Any]] = {}
        self._thread = threading.get_ident()
        os.register_at_fork(after_in_child=self._leave)

    def serve(self) -> NoReturn:
        while True:
            self._handle(self._receive())

    def _leave(self) -> None:
        """A process that the submission forks has no part in the conversation."""
        for descriptor in (self._reader, self._writer):
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self._reader = self._writer = -1

    def _handle(self, request: Any) -> None:
        if type(request) is wire.Forget:
            self._objects.forget()
            return
        reply: wire.Reply
        try:
            reply = self._answer(request)
        except CannotLoad as failure:
            reply = wire.NotLoaded(
                request.seq,
                failure.kind,
                failure.message,
                failure.line,
                failure.type_name,
                failure.column,
            )
        except BaseException as error:
            reply = wire.Raised(request.seq, *describe(error, self._objects.files()))
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(BaseException):
                stream.flush()
        self._send(reply)

    def _answer(self, request: Any) -> wire.Reply:
        kind = type(request)
        if kind is wire.Call:
            return wire.Returned(request.seq, self._call(request))
        if kind is wire.Get:
            return self._get(request)
        if kind is wire.Load:
            module = load(request.name, request.path, request.source)
            return wire.Returned(request.seq, self._objects.add_module(module))
        if kind is wire.Snapshot:
            value = self._objects[request.target]
            return wire.Returned(request.seq, self._objects.encoder.record(value))
        if kind is wire.Example:
            return wire.Returned(request.seq, self._run(request))
        raise RuntimeError("an answer that nobody waits for")

    def _call(self, request: wire.Call) -> wire.Tree:
        objects = self._objects
        function = self._find(request.target, request.name)
        decode = objects.decoder.decode
        args = [decode(tree) for tree in request.args]
        kwargs = {name: decode(tree) for name, tree in request.kwargs.items()}
        result = function(*args, **kwargs)
        if isinstance(function, type) and type(result) is function:
            return objects.encoder.instance(result)
        return objects.encoder.encode(result)

    def _get(self, request: wire.Get) -> wire.Reply:
        value = self._find(request.target, request.name)
        kind = self._objects.callable_kind(value)
        if kind is not None:
            return wire.Member(request.seq, kind)
        return wire.Returned(request.seq, self._objects.encoder.encode(value))

    def _find(self, target: int, name: str) -> Any:
        owner = self._objects[target]
        if not name:
            return owner
        if isinstance(owner, ModuleType):
            first = name.partition(".")[0]
            if not hasattr(owner, first):
                raise CannotLoad("missing_name", f"the module defines no {first!r}")
        return attrgetter(name)(owner)

    def _run(self, request: wire.Example) -> wire.Tree:
        key = (request.target, request.key)
        if key not in self._namespaces:
            self._namespaces[key] = dict(vars(self._objects[request.target]))
        result = run_example(request.source, self._namespaces[key])
        return self._objects.encoder.encode(result)

    def _ask(self, part: int, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
        """Have a part of the trusted side do something; what it returns or raises."""
        if threading.get_ident() != self._thread:
            raise RuntimeError("a part handed in can be used in the main thread only")
        encode = self._objects.encoder.encode
        trees = None if args is None else [encode(value) for value in args]
        named = {key: encode(value) for key, value in kwargs.items()}
        self._send(wire.Asked(part, name, trees, named))
        while True:
            message = self._receive()
            if type(message) is wire.Answered:
                return self._objects.decoder.decode(message.value)
            if type(message) is wire.Refused:
                raise getattr(builtins, message.type_name, RuntimeError)(message.message)
            self._handle(message)

    def _receive(self) -> Any:
        data = self._read(wire.HEADER.size)
        return wire.decode_to_worker(self._read(*wire.HEADER.unpack(data)))

    def _read(self, size: int) -> bytes:
        chunks = []
        while size:
            try:
                chunk = os.read(self._reader, min(size, 1 << 20))
            except OSError:
                chunk = b""
            if not chunk:
                os._exit(0)
            chunks.append(chunk)
            size -= len(chunk)
        return b"".join(chunks)

    def _send(self, message: Any) -> None:
        frame = wire.framed(message)
        if len(frame) > self._max_frame:
            why = f"more than {self._max_frame:,} bytes"
            if type(message) is wire.Asked:
                raise ValueError(f"the arguments take {why}")
            frame = wire.framed(wire.Returned(message.seq, too_large("result", why)))
        view = memoryview(frame)
        while view:
            try:
                view = view[os.write(self._writer, view) :]
            except OSError:
                os._exit(71)
