"""The manifest: all lessons in order, found by the names that people type."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.lessons import ROOT
from grader.lessons import Lesson as Files
from manifest.course import MalformedCourse, UnknownName, load

TOPICS = [
    "what_vllm_is",
    "request_path",
    "scheduler",
    "kv_cache",
    "model_execution",
    "features",
    "scaling",
    "extending",
    "semantic_router",
    "capstone",
]


def test_topics_come_in_the_order_of_the_course() -> None:
    assert [topic.name for topic in load().topics] == TOPICS


def test_every_written_lesson_has_its_files() -> None:
    for lesson in load().written:
        files = Files(lesson.path)
        for file in (files.text, files.stub, files.solution, files.suite, files.hints):
            assert file.is_file(), file


def test_every_solution_is_in_the_course_as_written() -> None:
    solutions = {
        file.relative_to(ROOT / "solutions").with_suffix("").as_posix()
        for file in (ROOT / "solutions").glob("*/*.py")
    }
    assert solutions == {lesson.path for lesson in load().written}


@pytest.mark.parametrize(
    "name",
    ["block_pool", "kv_cache/block_pool", "exercises/kv_cache/block_pool.py", "block_pool.md"],
)
def test_a_lesson_is_found_by_its_name_or_its_file(name: str) -> None:
    assert load().lesson(name).path == "kv_cache/block_pool"


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(UnknownName) as raised:
        load().lesson("block_pol")
    assert raised.value.suggestions[0] == "kv_cache/block_pool"


def test_a_lesson_named_twice_is_refused(tmp_path: Path) -> None:
    entry = "{name: a, title: A, summary: S, written: false}"
    file = tmp_path / "course.yaml"
    file.write_text(
        f"topics: [{{name: t, title: T, summary: S, lessons: [{entry}, {entry}]}}]",
        encoding="utf-8",
    )
    with pytest.raises(MalformedCourse, match="t/a"):
        load(file)


def test_a_lesson_without_a_summary_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "course.yaml"
    file.write_text(
        "topics: [{name: t, title: T, summary: S, lessons: [{name: a, title: A}]}]",
        encoding="utf-8",
    )
    with pytest.raises(MalformedCourse, match="summary"):
        load(file)
