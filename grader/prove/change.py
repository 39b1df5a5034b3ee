"""One small change to a solution, which makes a mutant of it."""

from __future__ import annotations

import msgspec


class Change(msgspec.Struct, frozen=True):
    """One generic change.

    `line` is the text of the first changed line, `number` its number in the solution, `mutated`
    what it becomes, and `occurrence` counts the changes of one operator to equal lines, from 0.
    One that `may_pass` only has to be graded.
    """

    operator: str
    line: str
    occurrence: int
    number: int
    mutated: str
    source: str
    may_pass: bool = False

    @property
    def key(self) -> tuple[str, str, int]:
        return self.operator, self.line, self.occurrence

    @property
    def name(self) -> str:
        return f"{self.operator.removeprefix('core/')}.{self.number}.{self.occurrence}"
