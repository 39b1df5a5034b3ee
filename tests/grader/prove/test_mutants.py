"""Mutants follow their solution, or say that they do not."""

from pathlib import Path

import pytest

from grader.lessons import Lesson
from grader.prove.mutants import BrokenMutant, Mutant, file_of, mutants_of


def lesson_with(folder: Path, text: str) -> Lesson:
    lesson = Lesson("toy/stack", folder)
    file_of(lesson).parent.mkdir(parents=True)
    file_of(lesson).write_text(text)
    return lesson


def test_the_edit_is_made_where_its_text_stands() -> None:
    mutant = Mutant("m", "Takes the first.", "pop()", "pop(0)")
    assert mutant.applied_to("return self.ids.pop()\n") == "return self.ids.pop(0)\n"


@pytest.mark.parametrize(("solution", "times"), [("pop(1)", 0), ("pop() pop()", 2)])
def test_an_edit_that_does_not_apply_exactly_once_is_an_error(solution: str, times: int) -> None:
    with pytest.raises(BrokenMutant, match=f"mutant m: .* {times} times"):
        Mutant("m", "Takes the first.", "pop()", "pop(0)").applied_to(solution)


def test_an_edit_that_changes_nothing_is_an_error() -> None:
    with pytest.raises(BrokenMutant, match="changes nothing"):
        Mutant("m", "None.", "pop()", "pop()").applied_to("pop()")


def test_they_are_read_in_order(tmp_path: Path) -> None:
    text = "".join(
        f'- {{name: {name}, mistake: M., replace: "a", with: "b"}}\n' for name in ("z", "y")
    )
    assert [mutant.name for mutant in mutants_of(lesson_with(tmp_path, text))] == ["z", "y"]


def test_a_lesson_without_a_file_has_none(tmp_path: Path) -> None:
    assert mutants_of(Lesson("toy/stack", tmp_path)) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("- {name: a, mistake: M., replace: x}\n", "missing required field `with`"),
        ("- {name: a\n", "flow mapping"),
        ("- {name: a, mistake: M, replace: x, with: y}\n" * 2, "mutant a: the name is given twice"),
    ],
)
def test_a_malformed_file_is_an_error(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(BrokenMutant, match=problem):
        mutants_of(lesson_with(tmp_path, text))
