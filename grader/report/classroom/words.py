"""What a standing is called, the same in every report."""

from __future__ import annotations

from typing import Literal

from grader.classroom.standings import Standing
from grader.report.console import harmless
from grader.verdict import GraderError, LoadError, Verdict

#: How much of a failed check is told: nothing but the points, its name, its whole story.
Detail = Literal["none", "names", "stories"]

UNSEALED = "Graded without a sandbox (--sandbox none): a submission could have changed any result."
SIMILAR = "Alike is no proof: look at both before you speak with anybody."

_STATUS = {
    "passed": "passed",
    "failed": "not passed",
    "not_started": "not started",
    "cannot_load": "cannot be loaded",
    "grader_error": "needs a person",
}
_STATE = {"not_graded": "not graded yet", "not_handed_in": "not handed in"}


def standing_words(standing: Standing) -> str:
    """`not passed`, `not handed in`, `passed, edited since`."""
    if standing.entry is None:
        return _STATE[standing.state]
    words = _STATUS[standing.entry.verdict.status]
    return f"{words}, edited since" if standing.state == "changed" else words


def points_words(verdict: Verdict) -> str:
    """`12 of 20 points`; of what the grader failed at there are none to tell."""
    if verdict.status == "grader_error":
        return "no points yet"
    return f"{verdict.points} of {verdict.max_points} points"


def cause_words(verdict: Verdict) -> str:
    """Why there are no checks to tell of; nothing where there are."""
    match verdict.error:
        case LoadError(line=None) as error:
            return harmless(f"{error.cause}; {error.fix}")
        case LoadError() as error:
            return harmless(f"line {error.line}: {error.cause}; {error.fix}")
        case GraderError() as error:
            return f"the grader itself failed: {harmless(error.cause)}"
    return ""
