"""What an adapter says of itself is read without running it."""

from pathlib import Path

import pytest

from grader.lessons import Lesson
from grader.prove.adapter import MalformedAdapter, adapter_of, file_of


def lesson_with(folder: Path, source: str) -> Lesson:
    lesson = Lesson("toy/stack", folder)
    file_of(lesson).parent.mkdir(parents=True)
    file_of(lesson).write_text(source)
    return lesson


def test_its_constants_are_read(tmp_path: Path) -> None:
    source = 'import vllm.nothing\nPRELOAD = ("a.b", "c")\nSKIPS = {"test_x": "Simpler here."}\n'
    found = adapter_of(lesson_with(tmp_path, source))
    assert found is not None
    assert found.preload == ("a.b", "c")
    assert found.skips == {"test_x": "Simpler here."}
    assert not found.not_drivable


def test_what_a_cpu_cannot_run_says_why(tmp_path: Path) -> None:
    found = adapter_of(lesson_with(tmp_path, 'NOT_DRIVABLE: str = "It is a CUDA graph."\n'))
    assert found is not None
    assert found.not_drivable == "It is a CUDA graph."


def test_a_lesson_without_an_adapter_has_none(tmp_path: Path) -> None:
    assert adapter_of(Lesson("toy/stack", tmp_path)) is None


@pytest.mark.parametrize(
    "source",
    ["PRELOAD = ['a']", "SKIPS = {'test_x': ''}", "SKIPS = skips()", "NOT_DRIVABLE = 3", "def"],
)
def test_what_is_no_literal_of_the_right_shape_is_an_error(tmp_path: Path, source: str) -> None:
    with pytest.raises(MalformedAdapter):
        adapter_of(lesson_with(tmp_path, source))
