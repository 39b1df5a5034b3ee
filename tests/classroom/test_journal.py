"""The journal: a verdict that was reported is never lost, whatever happens."""

from __future__ import annotations

from pathlib import Path

import pytest
from class_kit import LESSON, entry, verdict

from grader.classroom.journal import JournalInUse, open_journal, read_journal


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "journal.jsonl"


def test_entries_are_there_when_it_is_opened_again(path: Path) -> None:
    first, second = entry("ada", verdict(3), "k1"), entry("bob", verdict(5), "k2")
    with open_journal(path) as journal:
        journal.add(first)
        journal.add(second)
    with open_journal(path) as journal:
        assert journal.latest("ada", LESSON) == first
        assert journal.find("k2") == second.verdict
        assert journal.latest("eve", LESSON) is None
        assert journal.find("k3") is None


def test_the_last_entry_of_a_students_lesson_counts(path: Path) -> None:
    with open_journal(path) as journal:
        journal.add(entry("ada", verdict(3), "old"))
        journal.add(entry("ada", verdict(9), "new"))
        found = journal.latest("ada", LESSON)
        assert found is not None
        assert found.verdict.points == 9
        assert journal.find("old") == verdict(3)


@pytest.mark.parametrize("cut", [1, 2, 50, 10_000])
def test_a_line_that_was_cut_off_is_as_if_it_had_not_been_begun(path: Path, cut: int) -> None:
    with open_journal(path) as journal:
        journal.add(entry("ada", verdict(3), "k1"))
    whole = path.read_bytes()
    with open_journal(path) as journal:
        journal.add(entry("bob", verdict(4), "k2"))
    both = path.read_bytes()
    path.write_bytes(both[: max(len(whole), len(both) - cut)])
    with open_journal(path) as journal:
        assert journal.find("k2") is None
        journal.add(entry("eve", verdict(5), "k3"))
    with open_journal(path) as journal:
        assert journal.find("k1") == verdict(3)
        assert journal.find("k3") == verdict(5)


def test_a_damaged_line_costs_that_line_alone(path: Path) -> None:
    with open_journal(path) as journal:
        for number in range(3):
            journal.add(entry(f"s{number}", verdict(number), f"k{number}"))
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1][:20] + b"\x00\xff" + lines[1][22:]
    path.write_bytes(b"".join(lines))
    with open_journal(path) as journal:
        assert [journal.find(f"k{number}") for number in range(3)] == [verdict(0), None, verdict(2)]


def test_only_one_may_write(path: Path) -> None:
    with open_journal(path), pytest.raises(JournalInUse, match="another run is grading"):
        open_journal(path)
    open_journal(path).close()


def test_it_can_be_read_while_it_is_written(path: Path) -> None:
    with open_journal(path) as journal:
        journal.add(entry("ada", verdict(3), "k1"))
        with read_journal(path) as reading:
            assert reading.find("k1") == verdict(3)


def test_reading_one_that_is_not_there_makes_none(path: Path) -> None:
    with read_journal(path) as journal:
        assert journal.latest("ada", LESSON) is None
    assert not path.exists()


def test_what_the_grader_failed_at_is_nobodys_verdict(path: Path) -> None:
    with open_journal(path) as journal:
        journal.add(entry("ada", verdict(0, "grader_error"), "k1"))
        assert journal.find("k1") is None
        assert journal.latest("ada", LESSON) is not None
