"""A learner's predictions: a file of plain data to fill in, read strictly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from grader.capstone.draw import Exam
from grader.capstone.expression import Answer
from grader.capstone.questions import Question
from grader.workloads import read_yaml
from reference.fields import WorkloadError, got

FORMS = {
    "integer": "a whole number, or never",
    "list": "a list of values in their places, such as [a, b] or [3, 5]; [] for none",
    "set": "a list of ids in any order, such as [a, b]; [] for none",
    "order": "a list of all the ids in order, such as [b, a, c]",
    "ratio": "a number, such as 1.25, or a fraction, such as 5/4",
}
KEYS = ("capstone", "student", "answers")
WIDTH = 92


class BadPredictions(ValueError):
    """What is wrong in a file of predictions: a line for each wrong field."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class Predictions:
    """The answers by question; a question that was left open has none. `never` is None."""

    capstone: int
    student: str | None
    answers: Mapping[str, Answer] = field(default_factory=dict)


def template(exam: Exam) -> str:
    """A file to fill in: each question as a comment, with the form of its answer."""
    lines = [
        f"# Capstone {exam.capstone.number}: {exam.capstone.title}",
        "# Fill in what you predict, then: "
        f"vllmlings capstone grade {exam.capstone.number}{_student(exam.student)}",
        f"capstone: {exam.capstone.number}",
        f"student: {_quoted(exam.student)}",
        "answers:",
    ]
    for question in exam.capstone.questions:
        lines += ["", *_asked(question), f"  {question.id}:"]
    return "\n".join(lines) + "\n"


def read_predictions(path: Path, exam: Exam) -> Predictions:
    """The predictions in a file.

    Raises:
        BadPredictions: fields are wrong: all of them are told at once.
    """
    try:
        data = read_yaml(path)
    except WorkloadError as error:
        raise BadPredictions([str(error)]) from None
    return checked(data, exam, path.name)


def checked(data: object, exam: Exam, source: str) -> Predictions:
    """The predictions in plain data; raises BadPredictions."""
    if not isinstance(data, dict):
        raise BadPredictions([f"{source}: {got(data)}; allowed: a mapping with {', '.join(KEYS)}"])
    problems = [f"{source}: {key}: unknown key; allowed: {', '.join(KEYS)}" for key in _odd(data)]
    if data.get("capstone") != exam.capstone.number:
        problems.append(f"{source}: capstone: {got(data.get('capstone'))}; {exam.capstone.number}")
    if data.get("student") != exam.student:
        problems.append(
            f"{source}: student: {got(data.get('student'))}; these are the predictions of "
            f"{exam.student or 'nobody in particular (null)'}"
        )
    written = data.get("answers")
    answers = written if isinstance(written, dict) else {}
    if not isinstance(written, dict):
        problems.append(f"{source}: answers: {got(written)}; allowed: a mapping by question")
    known = {question.id: question for question in exam.capstone.questions}
    read: dict[str, Answer] = {}
    for name, value in answers.items():
        if name not in known:
            problems.append(f"{source}: answers.{name}: no such question")
        elif value is not None:
            try:
                read[name] = answer_of(known[name], value)
            except ValueError as error:
                problems.append(f"{source}: answers.{name}: {error}")
    if problems:
        raise BadPredictions(problems)
    return Predictions(exam.capstone.number, exam.student, read)


def answer_of(question: Question, value: object) -> Answer:
    """One answer as it is written; raises ValueError that says what is allowed.

    >>> asked = Question("q", "s", "How many?", "integer", "after.steps", 10)
    >>> answer_of(asked, 3), answer_of(asked, "never")
    (3, None)
    """
    problem = f"{got(value)}; allowed: {form(question)}"
    if question.kind == "choice":
        # YAML reads some words, such as no, as other things than words.
        if isinstance(value, str) and value in dict(question.choices):
            return value
        raise ValueError(problem)
    if value == "never" and question.kind in ("integer", "ratio"):
        return None
    if question.kind == "ratio":
        return _number(value, problem)
    if question.kind == "integer":
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63:
            return value
        raise ValueError(problem)
    return _list(question, value, problem)


def form(question: Question) -> str:
    """The form of an answer, in words."""
    if question.kind == "choice":
        return "one of " + ", ".join(word for word, _ in question.choices)
    return FORMS[question.kind]


def _list(question: Question, value: object, problem: str) -> Answer:
    if not isinstance(value, list) or len(value) > 1000:
        raise ValueError(problem)
    if question.kind == "list" and all(type(one) is int for one in value):
        return value
    if not all(isinstance(one, str) for one in value):
        raise ValueError(problem)
    if question.kind in ("set", "order") and len(set(value)) < len(value):
        raise ValueError(f"{got(value)}; the same id twice")
    return value


def _number(value: object, problem: str) -> Answer:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(problem)
    if isinstance(value, str) and len(value) > 40:
        raise ValueError(problem)
    try:
        number = Fraction(value)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise ValueError(problem) from None
    if not -(10**9) < number < 10**9:
        raise ValueError(problem)
    return number


def _odd(data: Mapping[Any, Any]) -> list[str]:
    return [str(key) for key in data if key not in KEYS]


def _asked(question: Question) -> list[str]:
    import textwrap

    text = f"[{question.scenario}] {question.text} ({question.points} points)"
    lines = textwrap.wrap(text, WIDTH)
    lines += textwrap.wrap(f"Answer: {form(question)}", WIDTH)
    for word, meaning in question.choices:
        lines += textwrap.wrap(f"{word}: {meaning}", WIDTH, initial_indent="  ")
    return [f"  # {line}" for line in lines]


def _student(student: str | None) -> str:
    return f" --student {student}" if student else ""


def _quoted(student: str | None) -> str:
    import json

    return "null" if student is None else json.dumps(student)
