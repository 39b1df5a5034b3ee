"""How a lesson is found by its name."""

from pathlib import Path

import pytest

from grader.lessons import Lesson, UnknownLesson, find, names


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("kv_cache/block_pool", "kv_cache/stats", "scheduler/stats"):
        path = Lesson(name, tmp_path).solution
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path


def test_lessons_are_the_solutions(root: Path) -> None:
    assert names(root) == ["kv_cache/block_pool", "kv_cache/stats", "scheduler/stats"]


def test_the_topic_may_be_left_out_where_one_topic_alone_has_the_lesson(root: Path) -> None:
    assert find("block_pool", root) == find("kv_cache/block_pool", root)
    with pytest.raises(UnknownLesson) as caught:
        find("stats", root)
    assert str(caught.value) == (
        "stats: several lessons have this name; did you mean kv_cache/stats or scheduler/stats?"
    )


def test_an_unknown_name_gets_the_nearest(root: Path) -> None:
    with pytest.raises(UnknownLesson, match=r"did you mean kv_cache/block_pool\?"):
        find("blok_pool", root)
    with pytest.raises(UnknownLesson, match="see `vllmlings list`"):
        find("zzz", root)
