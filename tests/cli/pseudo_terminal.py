"""A command in a real pseudo-terminal whose screen can be read."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import pyte

COLUMNS, LINES = 80, 70

# Without a controlling terminal Ctrl-C would reach nobody.
_TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


class Terminal:
    """Runs `command`; `press` types, `wait_for` reads until a text is on the screen."""

    def __init__(self, command: list[str], env: dict[str, str], lines: int = LINES) -> None:
        self._screen = pyte.Screen(COLUMNS, lines)
        self._stream = pyte.ByteStream(self._screen)
        self._master, self._slave = pty.openpty()
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, COLUMNS, 0, 0))
        self.modes_before = self.modes()
        self.process = subprocess.Popen(
            [sys.executable, "-c", _TAKE_TERMINAL, *command],
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            env=os.environ | {"TERM": "xterm-256color"} | env,
            start_new_session=True,
        )

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._master)
        os.close(self._slave)

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip()

    def colours(self) -> set[str]:
        """The foreground colours on the screen."""
        rows = self._screen.buffer.values()
        return {cell.fg for row in rows for cell in row.values() if cell.data.strip()}

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def wait_for(self, text: str, seconds: float = 20.0) -> None:
        """Read until the text is on the screen."""
        until = time.monotonic() + seconds
        while text not in self.text:
            assert time.monotonic() < until, f"no {text!r} on the screen:\n{self.text}"
            self._read(0.05)

    def wait_for_end(self, seconds: float = 10.0) -> int:
        """Read until the command ends; its exit code."""
        until = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < until, f"still running:\n{self.text}"
            self._read(0.05)
        while self._read(0.05):
            pass
        return int(self.process.returncode)

    def modes(self) -> list[Any]:
        """The terminal's settings: echo, line by line or key by key, and so on."""
        return termios.tcgetattr(self._slave)

    def _read(self, seconds: float) -> bool:
        """Take what has been written; whether there was anything."""
        ready, _, _ = select.select([self._master], [], [], seconds)
        if ready:
            self._stream.feed(os.read(self._master, 65536))
        return bool(ready)


def save(file: Path, content: str) -> None:
    """Save as many editors do: write beside, then rename over the old file."""
    beside = file.with_suffix(".new")
    beside.write_text(content, encoding="utf-8")
    beside.replace(file)
