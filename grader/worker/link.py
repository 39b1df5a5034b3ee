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
_PAUSE = 2  # milliseconds


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
        self._readable = _Ready(reader, select.POLLIN, printed)
        self._writable = _Ready(writer, select.POLLOUT, printed)
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
            self._writable.wait(deadline)

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
        self._readable.wait(deadline)
        try:
            chunk = os.read(self._reader, _CHUNK)
        except OSError:  # a socket's other end closed with something unread
            raise Ended from None
        if not chunk:
            raise Ended
        return chunk


class _Ready:
    """Waits for one descriptor, and drains what is printed meanwhile."""

    def __init__(self, descriptor: int, event: int, printed: Printed) -> None:
        self._printed = printed
        self._alone = select.poll()
        self._alone.register(descriptor, event)
        self._both = select.poll()
        self._both.register(descriptor, event)
        self._both.register(printed.descriptor, select.POLLIN)

    def wait(self, deadline: float) -> None:
        """Until the descriptor is ready. Raises Expired."""
        while True:
            left = deadline - monotonic()
            if left <= 0:
                raise Expired
            ready = self._both.poll(ceil(left * 1000))
            if any(descriptor == self._printed.descriptor for descriptor, _ in ready):
                if not self._printed.drain():
                    self._both.unregister(self._printed.descriptor)
                # whoever prints prints more: to wake for each line would slow it down
                ready = self._alone.poll(_PAUSE)
            if ready:
                return
