"""What students get: the lessons' texts and stubs, and a command that runs the public examples."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from grader.classroom.handout import handout_stub, handout_text
from grader.lessons import ROOT, Lesson
from manifest.course import load
from manifest.pins import load as load_pins

BUNDLE = Path(__file__).with_name("bundle")
NAME = "vllmlings-student"


def student_bundle(lessons: Sequence[Lesson]) -> dict[str, bytes]:
    """The files of the students' bundle, by their path in it."""
    texts = {
        "README.md": _bundled("README.md.in").replace("@LESSONS@", _listed(lessons)),
        "pyproject.toml": _bundled("pyproject.toml.in")
        .replace("@VERSION@", load_pins().version)
        .replace("@DEPENDENCIES@", _dependencies(lessons)),
        "vllmlings_student.py": _bundled("vllmlings_student.py"),
        "LICENSE": (ROOT / "LICENSE").read_text(encoding="utf-8"),
    }
    for lesson in lessons:
        texts[f"exercises/{lesson.name}.md"] = handout_text(lesson)
        texts[f"exercises/{lesson.name}.py"] = handout_stub(lesson)
    return {name: text.encode() for name, text in texts.items()}


def _bundled(name: str) -> str:
    return (BUNDLE / name).read_text(encoding="utf-8")


def _listed(lessons: Sequence[Lesson]) -> str:
    titles = {lesson.path: lesson.title for lesson in load()}
    return "\n".join(
        f"- [{titles.get(lesson.name, lesson.name)}](exercises/{lesson.name}.md)"
        for lesson in lessons
    )


def _dependencies(lessons: Sequence[Lesson]) -> str:
    """What the stubs import beside the standard library, which is numpy or nothing."""
    needs_numpy = any("import numpy" in handout_stub(lesson) for lesson in lessons)
    return '"numpy>=1.26"' if needs_numpy else ""
