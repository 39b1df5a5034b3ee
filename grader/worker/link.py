"""The trusted end of the pipes to a session: whole frames, by a deadline, while prints are drained.

Nothing here blocks for longer than the deadline, whatever the other end does.
"""

from __future__ import annotations

import contextlib
import os
import select
from math import ceil
from time import monotonic

from grader.worker.printed import Printed
from grader.worker.wire import HEADER

_CHUNK = 1 << 16


class Expired(Exception):
    """The deadline has passed."""


class Ended(Exception):
    """The other end is closed."""


class BadFrame(Exception):
    """What came is no frame."""


class Link:
    """Owns three descriptors: one to read, one to write, and one for what the session prints."""

    def __init__(self, reader: int, writer: int, printed: Printed, max_frame: int) -> None:
        self._reader = reader
        self._writer = writer
        self.printed = printed
        self._max_frame = max_frame
        self._readable = _poll(reader, select.POLLIN, printed)
        self._writable = _poll(writer, select.POLLOUT, printed)
        os.set_blocking(writer, False)

    def send(self, frame: bytes, deadline: float) -> None:
        """Write a frame. Raises Expired or Ended."""
        rest = memoryview(frame)
        while True:
            try:
                rest = rest[os.write(self._writer, rest) :]
            except BlockingIOError:
                pass
            except OSError:
                raise Ended from None
            if not rest:
                return
            self._wait(self._writable, deadline)

    def receive(self, deadline: float) -> bytes:
        """The body of the next frame. Raises Expired, Ended or BadFrame."""
        data = self._read(deadline)
        while len(data) < HEADER.size:
            data += self._read(deadline)
        (size,) = HEADER.unpack_from(data)
        if size > self._max_frame:
            raise BadFrame(f"a frame of {size} bytes; the limit is {self._max_frame}")
        size += HEADER.size
        if len(data) < size:
            buffer = bytearray(data)
            while len(buffer) < size:
                buffer += self._read(deadline)
            data = bytes(buffer)
        if len(data) > size:
            raise BadFrame("more than one frame at a time")
        return data[HEADER.size :]

    def close(self) -> None:
        """Close all three descriptors; what was printed before is kept."""
        self.printed.close()
        for descriptor in (self._reader, self._writer):
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def _read(self, deadline: float) -> bytes:
        self._wait(self._readable, deadline)
        chunk = os.read(self._reader, _CHUNK)
        if not chunk:
            raise Ended
        return chunk

    def _wait(self, poll: select.poll, deadline: float) -> None:
        """Until the pipe that `poll` is about is ready; drains what is printed meanwhile."""
        while True:
            left = deadline - monotonic()
            if left <= 0:
                raise Expired
            ready = False
            for descriptor, _ in poll.poll(ceil(left * 1000)):
                if descriptor != self.printed.descriptor:
                    ready = True
                elif not self.printed.drain():
                    self._readable.unregister(descriptor)
                    self._writable.unregister(descriptor)
            if ready:
                return


def _poll(descriptor: int, event: int, printed: Printed) -> select.poll:
    poll = select.poll()
    poll.register(descriptor, event)
    poll.register(printed.descriptor, select.POLLIN)
    return poll
