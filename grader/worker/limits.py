"""How much a submission may use."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Sizes are in bytes; None means no limit.

    `memory` is address space above what the worker needs to start, `file_size` that of any file
    written, `frame` that of one message in either direction, `printed` what is kept of what a
    session prints (half from its start, half from its end). `cpu_seconds` is what one session may
    compute in all; `processes` how many it may be, threads included, which binds all but root.

    >>> Limits(memory=512 * MIB).open_files
    256
    """

    memory: int | None = 2048 * MIB
    file_size: int | None = 64 * MIB
    open_files: int | None = 256
    cpu_seconds: int | None = None
    processes: int | None = None
    frame: int = 32 * MIB
    printed: int = MIB // 8
    depth: int = 64
    nested_callbacks: int = 32

    @classmethod
    def for_oracle(cls) -> Limits:
        """The limits for a real engine, which reserves far more address space than it uses."""
        return cls(memory=None, file_size=None, open_files=None)
