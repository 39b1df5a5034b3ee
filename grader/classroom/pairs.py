"""A pair of submissions that are alike."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Pair:
    """Two students' submissions of a lesson.

    `likeness` is the part of the one that is in the other, whichever is the larger part.
    """

    lesson: str
    first: str
    second: str
    likeness: float
