"""Submissions that are alike once names are set aside."""

from __future__ import annotations

import re

from grader.classroom.similar import similar_pairs
from grader.classroom.submissions import Submission
from grader.lessons import ROOT, find
from grader.stub import stub_of

LESSON = find("kv_cache/block_pool")
SOLUTION = LESSON.solution.read_text()
OTHER = (
    ROOT / "grader" / "alternatives" / "kv_cache" / "block_pool" / "linked_objects.py"
).read_text()


def handed_in(**sources: str) -> list[Submission]:
    return [
        Submission(student, LESSON.name, f"{student}.py", source.encode())
        for student, source in sources.items()
    ]


def renamed(source: str) -> str:
    """The same with other names for what is inside, and other comments."""
    for old, new in {"block_ids": "numbers", "block_id": "number", "self": "this"}.items():
        source = re.sub(rf"\b{old}\b", new, source)
    return "# my very own work\n" + source


def test_a_copy_with_other_names_is_found_and_ones_own_way_is_not() -> None:
    pairs = similar_pairs(LESSON, handed_in(ada=SOLUTION, bob=renamed(SOLUTION), eve=OTHER))
    assert [(pair.first, pair.second) for pair in pairs] == [("ada", "bob")]
    assert pairs[0].likeness > 0.9


def test_what_the_stub_gives_does_not_count() -> None:
    stub = stub_of(LESSON)
    assert similar_pairs(LESSON, handed_in(ada=stub, bob=stub + "\nx = 1\n")) == []


def test_what_cannot_be_read_is_left_out() -> None:
    broken = Submission("eve", LESSON.name, "eve.py", None)
    assert similar_pairs(LESSON, [*handed_in(ada=SOLUTION, bob="def f(:\n"), broken]) == []
