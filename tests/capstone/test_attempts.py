"""Predictions are kept before the truth is shown; the first attempt stays what it was."""

from pathlib import Path

import pytest

from grader.capstone.attempts import Attempts, UnreadableAttempts


def test_what_was_locked_in_is_on_disk_before_it_is_marked(tmp_path: Path) -> None:
    Attempts(tmp_path, 3, None).lock_in("capstone: 3")
    (kept,) = Attempts(tmp_path, 3, None).all()
    assert (kept.predictions, kept.points) == ("capstone: 3", None)


def test_a_later_attempt_leaves_the_first_one(tmp_path: Path) -> None:
    attempts = Attempts(tmp_path, 3, None)
    for text, points in (("first", 40.0), ("second", 100.0)):
        attempts.lock_in(text)
        attempts.settle(points, 100)
    assert [one.points for one in attempts.all()] == [40.0, 100.0]
    assert attempts.first is not None
    assert attempts.first.predictions == "first"


def test_each_student_and_capstone_has_attempts_of_its_own(tmp_path: Path) -> None:
    Attempts(tmp_path, 3, "a/../b").lock_in("x")
    assert not Attempts(tmp_path, 3, None).all()
    assert not Attempts(tmp_path, 2, "a/../b").all()
    assert len(Attempts(tmp_path, 3, "a/../b").all()) == 1


@pytest.mark.parametrize("content", ["", "{", '{"version": 9}', '{"attempts": 3}'])
def test_a_damaged_file_is_told_and_left_alone(tmp_path: Path, content: str) -> None:
    attempts = Attempts(tmp_path, 3, None)
    attempts.path.parent.mkdir()
    attempts.path.write_text(content)
    with pytest.raises(UnreadableAttempts, match="cannot be read"):
        attempts.lock_in("x")
    assert attempts.path.read_text() == content
