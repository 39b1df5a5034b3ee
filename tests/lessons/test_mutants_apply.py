"""The mutants of the lessons follow their solutions."""

import pytest

from grader.lessons import Lesson, names
from grader.prove.mutants import Mutant, mutants_of

ALL = [(name, mutant) for name in names() for mutant in mutants_of(Lesson(name))]


@pytest.mark.parametrize(
    ("name", "mutant"), ALL, ids=[f"{name}:{mutant.name}" for name, mutant in ALL]
)
def test_each_edit_applies_exactly_once(name: str, mutant: Mutant) -> None:
    assert mutant.applied_to(Lesson(name).solution.read_text(encoding="utf-8"))
