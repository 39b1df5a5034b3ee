"""A GitHub Actions workflow for a class, and the private repository that it grades with.

The class's repository is where students open pull requests; suites and solutions are in another
one, which they cannot read.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

from grader.classroom.private_copy import private_copy
from grader.lessons import Lesson
from grader.report.classroom.words import Detail

_TEMPLATE = Path(__file__).with_name("grade.yml.in")
CLASS, PRIVATE = "class-repository", "private-repository"


def repositories(lessons: Sequence[Lesson], private: str, detail: Detail) -> dict[str, bytes]:
    """The files of both repositories. `private` is the second one's name, as OWNER/NAME."""
    files = {f"{PRIVATE}/{name}": content for name, content in private_copy().items()}
    workflow = workflow_text(lessons, private, detail).encode()
    return files | {f"{CLASS}/.github/workflows/grade.yml": workflow}


def workflow_text(lessons: Sequence[Lesson], private: str, detail: Detail) -> str:
    """The workflow's YAML."""
    chosen = f"lessons: {json.dumps([lesson.name for lesson in lessons])}"
    return (
        _TEMPLATE.read_text(encoding="utf-8")
        .replace("@PRIVATE@", json.dumps(private))
        .replace("@LESSONS@", f"echo {shlex.quote(chosen)} > course/classroom.yaml")
        .replace("@DETAIL@", detail)
    )
