"""Why a submission cannot be loaded, in words: the file, the line, the cause and the fix."""

import ast
import os
from pathlib import Path

from grader.lessons import Lesson
from grader.places import places
from grader.showing import shown
from grader.source import Source, Unreadable, printable
from grader.verdict import LoadError
from grader.worker import (
    CallTimedOut,
    LoadFailed,
    Session,
    SubmissionRaised,
    WorkerDied,
    WorkerError,
)

# Of the time for a call: a lesson loads in a hundredth of it, and does so for each check.
_LOADING_MAY_TAKE = 0.4


def problem_with(
    session: Session, submission: Source, lesson: Lesson, stub: str
) -> LoadError | None:
    """Load the submission; what is wrong with it, if it does not load or lacks a public name."""
    deadline = session.deadline
    try:
        session.deadline = deadline * _LOADING_MAY_TAKE
        loaded = session.load(submission, submission.name)
        for name, kind in public_names(stub).items():
            value = getattr(loaded, name)
            if not callable(value):
                cause = f"{name} is {shown(value)} where a {kind} belongs"
                fix = _define_again(_reset(lesson, submission.path))
                return LoadError("wrong_kind", printable(submission.path), None, cause, fix)
    except WorkerError as error:
        kind, line, cause, fix = _words(error, _reset(lesson, submission.path))
        column = error.column if isinstance(error, LoadFailed) else None
        source = _line_of(submission, line)
        return LoadError(kind, printable(submission.path), line, cause, fix, source, column)
    finally:
        session.deadline = deadline
    return None


def unreadable(error: Unreadable, lesson: Lesson) -> LoadError:
    """The same where there is nothing to load."""
    fix = _reset(lesson, error.path) or "give the path of a file with Python source"
    return LoadError("missing_file", printable(error.path), None, error.cause, fix)


def _reset(lesson: Lesson, file: Path) -> str:
    """How to have the stub again; of no use to a file that is not the exercise."""
    if os.path.abspath(file) != os.path.abspath(places().exercise(lesson.name)):
        return ""
    return f"`vllmlings reset {lesson.name}` puts the stub back, and keeps your file"


def _define_again(reset: str) -> str:
    return "; ".join(["define it again, as the stub did", *([reset] if reset else [])])


def public_names(stub: str) -> dict[str, str]:
    """The classes and functions that the stub defines and the suite may use: which it is of each.

    >>> public_names("class Pool: ...\ndef hits(): ...\ndef _kept(): ...")
    {'Pool': 'class', 'hits': 'function'}
    """
    names = {}
    for node in ast.parse(stub).body:
        if isinstance(node, ast.ClassDef):
            names[node.name] = "class"
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names[node.name] = "function"
    return {name: kind for name, kind in names.items() if not name.startswith("_")}


def _line_of(submission: Source, line: int | None) -> str:
    """The line with this number; nothing where there is none, or none that can be read."""
    try:
        lines = submission.content.decode().split("\n")
    except UnicodeDecodeError:
        return ""
    return lines[line - 1] if line is not None and 1 <= line <= len(lines) else ""


def _words(error: WorkerError, reset: str) -> tuple[str, int | None, str, str]:
    match error:
        case LoadFailed(kind="syntax" | "encoding", line=int()):
            return error.kind, error.line, error.message, "correct this line, or the one above it"
        case LoadFailed(kind="import"):
            fix = "a lesson needs no other module than those its stub imports: remove the import"
            return error.kind, error.line, error.message, fix
        case LoadFailed(kind="missing_name"):
            return error.kind, error.line, error.message, _define_again(reset)
        case LoadFailed():
            cause = f"{error.type_name}: {error.message}" if error.type_name else error.message
            fix = "make the module load by itself: `python` on this file shows the same error"
            return error.kind, error.line, cause, fix
        case SubmissionRaised():
            cause = f"{error.type_name}: {error.message}"
            return "raised", error.line, cause, "make the module load without an error"
        case CallTimedOut():
            cause = f"loading it did not end within {error.seconds:g} s"
            fix = (
                "each check loads it anew, so it has to be fast: look for a loop outside of any "
                "function, or code that waits for something"
            )
            return "timed_out", None, cause, fix
        case WorkerDied():
            cause = f"loading it ended the process ({error.cause})"
            return "died", None, cause, "remove what ends the process when the module loads"
    return "protocol", None, str(error), "remove what writes to the grader's own files"
