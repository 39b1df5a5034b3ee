"""Generic mutants change what stands between a solution's marks, and equivalents are known."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from grader.lessons import Lesson
from grader.places import places
from grader.prove.generic import SolutionRejected, changes, equivalents_file, run_generic

SOLUTION = """\
LIMIT = 5


def more(x):
    ### BEGIN SOLUTION add
    if x == 0:
        return x + 1
    if x == 0:
        return x
    return x + 2
    ### END SOLUTION
"""


@pytest.fixture
def lesson(tmp_path: Path, toy: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lesson]:
    monkeypatch.setenv("VLLMLINGS_HOME", str(tmp_path / "home"))
    places.cache_clear()
    yield toy.write(tmp_path)
    places.cache_clear()


def run(lesson: Lesson) -> Any:
    return run_generic(lesson, fresh=False, jobs=2, tell=lambda _done, _total: None)


def test_only_what_a_learner_writes_is_changed() -> None:
    found = list(changes(SOLUTION, "more.py"))
    assert {change.number for change in found} == {6, 7, 8, 10}
    assert all(change.source.startswith("LIMIT = 5\n") for change in found)


def test_no_two_of_them_are_the_same() -> None:
    sources = [change.source for change in changes(SOLUTION, "more.py")]
    assert len(sources) == len(set(sources))
    assert SOLUTION not in sources


def test_equal_lines_are_told_apart_by_their_occurrence() -> None:
    name = "core/ReplaceComparisonOperator_Eq_NotEq"
    found = [change for change in changes(SOLUTION, "more.py") if change.operator == name]
    assert [(change.line, change.occurrence) for change in found] == [
        ("if x == 0:", 0),
        ("if x == 0:", 1),
    ]


def test_survivors_are_those_that_are_not_known_to_be_equivalent(lesson: Lesson) -> None:
    text = lesson.solution.read_text()
    lesson.solution.write_text(text.replace("if not self.ids:", "if len(self.ids) == 0:"))
    before = run(lesson)
    assert before.killed
    assert "core/ReplaceComparisonOperator_Eq_LtE" in {one.operator for one in before.survived}
    judged = [
        {
            "line": one.line,
            "operators": [one.operator.removeprefix("core/")],
            "occurrence": one.occurrence,
            "reason": "No list is shorter than that.",
        }
        for one in before.survived
    ]
    stale = {"line": "gone", "operators": ["AddNot"], "reason": "It is gone."}
    file = equivalents_file(lesson)
    file.parent.mkdir(parents=True)
    file.write_bytes(msgspec.json.encode([*judged, stale]))
    after = run(lesson)
    assert (after.survived, after.equivalent) == ([], len(before.survived))
    assert after.stale == [("core/AddNot", "gone", 0)]


def test_a_suite_that_rejects_the_solution_judges_nothing(lesson: Lesson) -> None:
    lesson.suite.write_text(lesson.suite.read_text().replace("reversed(ids)", "ids"))
    with pytest.raises(SolutionRejected, match="test_pops_the_last_first"):
        run(lesson)
