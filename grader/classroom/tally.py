"""What a class did not understand: how often each check passed and failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from grader.classroom.standings import Standing


@dataclass
class CheckTally:
    """One check over a class; `failures` counts kinds of failure (`Mismatched`, `TimedOut`)."""

    name: str
    title: str
    points: int
    passed: int = 0
    failed: int = 0
    blocked: int = 0
    failures: Counter[str] = field(default_factory=Counter)

    @property
    def tried(self) -> int:
        return self.passed + self.failed + self.blocked

    @property
    def share_passed(self) -> float:
        return self.passed / self.tried if self.tried else 0.0


@dataclass
class LessonTally:
    """One lesson over a class. `statuses` counts verdicts; `points` are of all that were graded."""

    lesson: str
    max_points: int = 0
    handed_in: int = 0
    points: list[int] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    checks: dict[str, CheckTally] = field(default_factory=dict)

    @property
    def mean(self) -> float:
        return sum(self.points) / len(self.points) if self.points else 0.0

    @property
    def hardest(self) -> list[CheckTally]:
        """The checks that fewest passed come first; those that all passed are left out."""
        missed = [check for check in self.checks.values() if check.share_passed < 1]
        return sorted(missed, key=lambda check: check.share_passed)


def tally(lesson: str, standings: Iterable[Standing]) -> LessonTally:
    """Count a lesson's verdicts over a class.

    Checks are counted over the submissions that could be run; points over all that were graded.
    """
    found = LessonTally(lesson)
    for standing in standings:
        found.handed_in += standing.state != "not_handed_in"
        if standing.entry is None:
            continue
        verdict = standing.entry.verdict
        found.statuses[verdict.status] += 1
        if verdict.status == "grader_error":
            continue
        found.points.append(verdict.points)
        found.max_points = max(found.max_points, verdict.max_points)
        for check in verdict.checks:
            name = CheckTally(check.name, check.title, check.points)
            counted = found.checks.setdefault(check.name, name)
            counted.passed += check.outcome == "passed"
            counted.failed += check.outcome == "failed"
            counted.blocked += check.outcome == "blocked"
            if check.failure is not None:
                counted.failures[type(check.failure).__name__] += 1
    return found
