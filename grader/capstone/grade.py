"""Grading: predictions are locked in, then the truth is worked out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from grader.capstone.draw import Exam
from grader.capstone.expression import Answer
from grader.capstone.marking import Mark, mark, truths


@dataclass(frozen=True, slots=True)
class Result:
    """An exam marked."""

    exam: Exam
    marks: tuple[Mark, ...]

    @property
    def points(self) -> float:
        return round(sum(each.earned for each in self.marks), 2)

    @property
    def max_points(self) -> int:
        return self.exam.capstone.points


def grade(exam: Exam, answers: Mapping[str, Answer]) -> Result:
    """The answers marked against what the engine's two variants do."""
    questions = exam.capstone.questions
    return Result(exam, mark(questions, answers, truths(questions, exam.outcomes)))
