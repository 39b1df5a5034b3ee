"""When a topic was handed in: nbgrader's file `timestamp.txt` beside the submissions."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from grader.classroom.plain import NotPlain, read_plain

NAME = "timestamp.txt"
_LONGEST = 200


def handed_in_at(submitted: Path, student: str, topic: str) -> datetime | None:
    """The time that stands in `submitted/<student>/<topic>/timestamp.txt`, in UTC.

    None where there is none, or none that can be read: nbgrader takes nothing off then.
    """
    try:
        text = read_plain(submitted, (student, topic, NAME), _LONGEST).decode("ascii").strip()
        return parsed(text)
    except (NotPlain, UnicodeDecodeError, ValueError, OverflowError):
        return None


def parsed(text: str) -> datetime:
    """A time as nbgrader writes it (`2027-01-31 12:00:00 UTC`), or as ISO has it.

    Raises:
        ValueError: it is no time.

    >>> parsed("2027-01-31 12:00:00.5 UTC").isoformat()
    '2027-01-31T12:00:00.500000+00:00'
    """
    found = datetime.fromisoformat(text.removesuffix(" UTC").replace(" +", "+").replace(" -", "-"))
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
