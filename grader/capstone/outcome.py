"""What a run of a scenario gave, as facts by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from reference.trace import Trace
from reference.workload import Workload

Fact: TypeAlias = "int | str | list[int] | list[str] | None"
#: A fact's name is `steps`, or `finish_step.a` where it is about one thing of several. What never
#: came to pass is None.
Facts: TypeAlias = "dict[str, Fact]"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The facts of one side of a scenario, and what it can be shown by: the workload and its trace
    where an engine ran, else lines of text."""

    facts: Facts
    workload: Workload | None = None
    trace: Trace | None = None
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Both:
    """The two sides of a scenario."""

    before: Outcome
    after: Outcome

    @property
    def differ(self) -> bool:
        """Whether the change shows in any fact."""
        return self.before.facts != self.after.facts


#: A scenario's inputs or one of its sides, as read from YAML.
Data: TypeAlias = Mapping[str, Any]
