from __future__ import annotations

from pathlib import Path

import pytest
from class_kit import make_course

from grader.classroom.course import Course


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A course of one small lesson, to which nobody has handed in anything."""
    return make_course(tmp_path)
