"""A class as CSV that any spreadsheet program opens without running what stands in it."""

from __future__ import annotations

import csv
import io

from grader.classroom.standings import ClassStandings, Standing
from grader.report.classroom.words import UNSEALED, cause_words, standing_words

# What a spreadsheet program takes for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def class_csv(standings: ClassStandings) -> str:
    """One row a student: the points of each lesson, their sum, and notes.

    A lesson without points (not handed in, needs a person) is empty, and the notes say why.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(["student", *standings.lessons, "points", "max_points", "notes"])
    for student in standings.students:
        found = standings.of_student(student)
        verdicts = [each.entry.verdict for each in found if each.entry]
        points = sum(verdict.points for verdict in verdicts)
        whole = sum(verdict.max_points for verdict in verdicts)
        notes = [note for each in found if (note := _note(each))]
        notes += [UNSEALED] if any(e.entry and e.entry.sandbox == "none" for e in found) else []
        row = [student, *map(_points, found), str(points), str(whole), " | ".join(notes)]
        writer.writerow([harmless_cell(cell) for cell in row])
    return stream.getvalue()


def harmless_cell(text: str) -> str:
    """The text, with `'` before what would be a formula: a spreadsheet program shows it as text.

    >>> harmless_cell("=1+1"), harmless_cell("Doe, Jr.")
    ("'=1+1", 'Doe, Jr.')
    """
    return f"'{text}" if text.startswith(_FORMULA) else text


def _points(standing: Standing) -> str:
    if standing.entry is None or standing.entry.verdict.status == "grader_error":
        return ""
    return str(standing.entry.verdict.points)


def _note(standing: Standing) -> str:
    entry = standing.entry
    if standing.state == "graded" and entry and entry.verdict.status in ("passed", "failed"):
        return ""
    cause = cause_words(entry.verdict) if entry else ""
    words = f"{standing.lesson}: {standing_words(standing)}"
    return f"{words} ({cause})" if cause else words
