"""Gradescope's autograder: a zip with `setup.sh`, `run_autograder` and a copy of this course."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from grader.classroom.private_copy import private_copy
from grader.lessons import Lesson
from grader.report.classroom.words import Detail
from grader.sandbox import Sandbox

AUTOGRADER = Path(__file__).with_name("autograder")


def autograder(lessons: Sequence[Lesson], sandbox: Sandbox, detail: Detail) -> dict[str, bytes]:
    """The zip's files. It grades these lessons, whichever of them are handed in."""
    options = ["--sandbox", sandbox, "--detail", detail, *(lesson.name for lesson in lessons)]
    run = (AUTOGRADER / "run_autograder").read_text(encoding="utf-8")
    files = {
        "setup.sh": (AUTOGRADER / "setup.sh").read_bytes(),
        "run_autograder": run.replace("@OPTIONS@", shlex.join(options)).encode(),
    }
    return files | {f"course/{name}": content for name, content in private_copy().items()}
