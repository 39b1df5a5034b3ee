"""One student's results in Gradescope's form (`results.json`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from grader.classroom.standings import Standing
from grader.report.classroom.feedback import failure_text
from grader.report.classroom.words import (
    UNSEALED,
    Detail,
    cause_words,
    points_words,
    standing_words,
)
from grader.verdict import CheckResult, Verdict


def gradescope_results(standings: Sequence[Standing], detail: Detail) -> str:
    """The JSON of a student's lessons.

    A check is a test with its points; with `none` a lesson is one test, and tells no names.
    Where the grader itself failed there is no score: Gradescope then asks for a person.
    """
    tests = [test for standing in standings for test in _tests(standing, detail)]
    verdicts = [standing.entry.verdict for standing in standings if standing.entry]
    results: dict[str, Any] = {"output_format": "text", "stdout_visibility": "hidden"}
    if not any(verdict.status == "grader_error" for verdict in verdicts):
        results["score"] = sum(verdict.points for verdict in verdicts)
    lines = [f"{each.lesson}: {standing_words(each)}" for each in standings]
    if any(standing.entry and standing.entry.sandbox == "none" for standing in standings):
        lines.append(UNSEALED)
    results |= {"output": "\n".join(lines), "tests": tests}
    return msgspec.json.format(msgspec.json.encode(results)).decode() + "\n"


def _tests(standing: Standing, detail: Detail) -> Iterator[dict[str, Any]]:
    if standing.entry is None:
        return
    verdict = standing.entry.verdict
    if detail == "none" or not verdict.checks:
        yield _whole(standing, verdict)
        return
    for number, check in enumerate(verdict.checks, start=1):
        yield _check(standing.lesson, number, check, detail)


def _whole(standing: Standing, verdict: Verdict) -> dict[str, Any]:
    output = cause_words(verdict) or points_words(verdict)
    return {
        "name": standing.lesson,
        "score": verdict.points,
        "max_score": verdict.max_points,
        "status": "passed" if verdict.status == "passed" else "failed",
        "output": output,
        "visibility": "visible",
    }


def _check(lesson: str, number: int, check: CheckResult, detail: Detail) -> dict[str, Any]:
    output = ""
    if check.outcome == "blocked":
        output = "Not reached: a check that this one builds on did not pass."
    elif check.failure is not None and detail == "stories":
        output = failure_text(check.failure)
    return {
        "number": f"{lesson}.{number}",
        "name": check.title,
        "score": check.earned,
        "max_score": check.points,
        "status": "passed" if check.outcome == "passed" else "failed",
        "output": output,
        "visibility": "visible",
    }
