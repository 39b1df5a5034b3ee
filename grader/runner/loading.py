"""Why a submission cannot be loaded, in words: the file, the line, the cause and the fix."""

import ast
from pathlib import Path

from grader.lessons import Lesson
from grader.verdict import LoadError
from grader.worker import (
    CallTimedOut,
    LoadFailed,
    Session,
    SubmissionRaised,
    WorkerDied,
    WorkerError,
)


def problem_with(session: Session, submission: Path, lesson: Lesson, stub: str) -> LoadError | None:
    """Load the submission; what is wrong with it, if it does not load or lacks a public name."""
    reset = f"`vllmlings reset {lesson.name}` puts the stub back, and keeps your file"
    try:
        loaded = session.load(submission, submission.stem)
        for name in public_names(stub):
            getattr(loaded, name)
    except OSError as error:
        cause = "there is no such file" if isinstance(error, FileNotFoundError) else str(error)
        return LoadError("missing_file", str(submission), None, cause, reset)
    except WorkerError as error:
        kind, line, cause, fix = _words(error, reset)
        column = error.column if isinstance(error, LoadFailed) else None
        source = _line_of(submission, line)
        return LoadError(kind, str(submission), line, cause, fix, source, column)
    return None


def public_names(stub: str) -> list[str]:
    """The classes and functions that the stub defines and the suite may use."""
    defined = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    names = [node.name for node in ast.parse(stub).body if isinstance(node, defined)]
    return [name for name in names if not name.startswith("_")]


def _line_of(file: Path, line: int | None) -> str:
    """The line with this number; nothing where there is none, or none that can be read."""
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        return ""
    return lines[line - 1] if line is not None and 1 <= line <= len(lines) else ""


def _words(error: WorkerError, reset: str) -> tuple[str, int | None, str, str]:
    match error:
        case LoadFailed(kind="missing_file"):
            return "missing_file", None, error.message, reset
        case LoadFailed(kind="syntax" | "encoding"):
            return error.kind, error.line, error.message, "correct this line, or the one above it"
        case LoadFailed(kind="import"):
            fix = "a lesson needs no other module than those its stub imports: remove the import"
            return error.kind, error.line, error.message, fix
        case LoadFailed(kind="missing_name"):
            fix = f"define it again, as the stub did; {reset}"
            return error.kind, error.line, error.message, fix
        case LoadFailed():
            cause = f"{error.type_name}: {error.message}" if error.type_name else error.message
            fix = "make the module load by itself: `python` on this file shows the same error"
            return error.kind, error.line, cause, fix
        case SubmissionRaised():
            cause = f"{error.type_name}: {error.message}"
            return "raised", error.line, cause, "make the module load without an error"
        case CallTimedOut():
            cause = f"loading it did not end within {error.seconds:g} s"
            fix = "look for a loop outside of any function, or code that waits for something"
            return "timed_out", None, cause, fix
        case WorkerDied():
            cause = f"loading it ended the process ({error.cause})"
            return "died", None, cause, "remove what ends the process when the module loads"
    return "protocol", None, str(error), "remove what writes to the grader's own files"
