"""What a session prints: its start and its end are kept, and the middle is counted."""

from __future__ import annotations

import contextlib
import os

_CHUNK = 1 << 16
_CHUNKS_AT_ONCE = 16


class Printed:
    """Reads a pipe without blocking and keeps at most `limit` bytes of it."""

    def __init__(self, descriptor: int, limit: int) -> None:
        self.descriptor = descriptor
        self._half = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0
        os.set_blocking(descriptor, False)

    @property
    def dropped(self) -> int:
        """How many bytes were not kept."""
        return self._total - len(self._head) - min(len(self._tail), self._half)

    @property
    def text(self) -> str:
        """What was kept, with a line in the middle that says how much was not."""
        head = self._head.decode("utf-8", "replace")
        tail = self._tail[-self._half :].decode("utf-8", "replace")
        if self.dropped:
            return f"{head}\n… {self.dropped} bytes not kept …\n{tail}"
        return (self._head + self._tail).decode("utf-8", "replace")

    def drain(self) -> bool:
        """Read what is there, up to a bound; False when there will be no more."""
        for _ in range(_CHUNKS_AT_ONCE):
            try:
                chunk = os.read(self.descriptor, _CHUNK)
            except BlockingIOError:
                return True
            except OSError:
                return False
            if not chunk:
                return False
            self._keep(chunk)
        return True

    def close(self) -> None:
        """Read what is left and close the pipe."""
        self.drain()
        with contextlib.suppress(OSError):
            os.close(self.descriptor)
        self.descriptor = -1

    def _keep(self, chunk: bytes) -> None:
        self._total += len(chunk)
        room = self._half - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]
