"""What proving a lesson came to, as plain data."""

from __future__ import annotations

from typing import Literal

import msgspec

Real = Literal["passed", "failed", "missing", "not_drivable", "not_asked"]


class Shortfall(msgspec.Struct, frozen=True):
    """Something that a lesson lacks: `what` falls short, the `file` it is to be mended in, and
    how."""

    what: str
    file: str
    fix: str

    def __str__(self) -> str:
        return f"{self.what}: {self.file}: {self.fix}"


class Tally(msgspec.Struct, frozen=True):
    """So many of `all` came out as they should; fewer than `wanted` are too few."""

    good: int
    all: int
    wanted: int

    @property
    def holds(self) -> bool:
        return self.good == self.all and self.all >= self.wanted


class RealEngine(msgspec.Struct, frozen=True):
    """How the real vLLM fares: `skips` are checks that the text tells to be simpler than it."""

    outcome: Real
    reason: str = ""
    skips: dict[str, str] = {}

    @property
    def holds(self) -> bool:
        return self.outcome in ("passed", "not_drivable", "not_asked")


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """One lesson's row; `shortfalls` tell of each thing that does not hold."""

    lesson: str
    stub_fails: bool
    stub_agrees: bool
    solution_passes: bool
    alternatives: Tally
    mutants: Tally
    real: RealEngine
    text_complete: bool
    shortfalls: list[Shortfall] = []

    @property
    def holds(self) -> bool:
        return not self.shortfalls
