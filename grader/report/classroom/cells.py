"""What the cell of a check in a student's notebook says."""

from __future__ import annotations

from grader.classroom.journal import Entry
from grader.report.classroom.feedback import MARKS, failure_text
from grader.report.classroom.words import UNSEALED, Detail, cause_words
from grader.verdict import Verdict


def cell_words(entry: Entry, name: str, detail: Detail) -> str:
    """The words for the check of that name, a line or, with `stories`, a few."""
    words = _words(entry.verdict, name, detail)
    return f"{words}\n{UNSEALED}" if entry.sandbox == "none" else words


def _words(verdict: Verdict, name: str, detail: Detail) -> str:
    if verdict.status == "grader_error":
        return f"! {cause_words(verdict)}; your teacher will look at it"
    if cause := cause_words(verdict):
        return f"✗ it cannot be loaded: {cause}"
    if verdict.status == "not_started":
        return "– not started"
    check = next((check for check in verdict.checks if check.name == name), None)
    if check is None:
        return "– this check is no longer part of the lesson"
    points = f"{check.earned} of {check.points}"
    if detail == "none":
        return points
    mark = MARKS[check.outcome]
    if check.outcome == "passed":
        return f"{mark} passed, {points}"
    if check.outcome == "blocked":
        return f"{mark} not reached: what it builds on did not pass, {points}"
    if check.failure is None or detail == "names":
        return f"{mark} not passed, {points}"
    return f"{mark} not passed, {points}\n{failure_text(check.failure)}\nThe rule: {check.rule}"
