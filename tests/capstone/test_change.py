"""The lines of a change come from two releases, which are checked, and only those asked for."""

import hashlib
from pathlib import Path

import pytest

from grader.capstone.change import ChangedFile, Chosen, hunks, read_change
from grader.capstone.exam import Capstone, capstones
from manifest.errors import WrongHash
from manifest.release import FolderRelease

OLD = """class Queue:
    def add(self, one):
        self.items.append(one)

    def size(self):
        return len(self.items)
"""
NEW = """class Queue:
    def add(self, one):
        self.items.insert(0, one)

    def size(self):
        return len(self.items) + 0
"""
PATH = "vllm/queue.py"


@pytest.fixture
def releases(tmp_path: Path) -> tuple[FolderRelease, FolderRelease]:
    found = []
    for version, text in (("1.0", OLD), ("1.1", NEW)):
        path = tmp_path / version / PATH
        path.parent.mkdir(parents=True)
        path.write_text(text)
        found.append(FolderRelease(tmp_path / version, version))
    return found[0], found[1]


def file(*chosen: Chosen, old: str = OLD) -> ChangedFile:
    digests = (hashlib.sha256(text.encode()).hexdigest() for text in (old, NEW))
    return ChangedFile(PATH, *digests, chosen)


def changed(one: ChangedFile, releases: tuple[FolderRelease, FolderRelease]) -> list[str]:
    return [
        line.text.strip()
        for hunk in hunks(one, *releases)
        for line in hunk.lines
        if line.before is None or line.after is None
    ]


def test_without_a_choice_the_whole_difference_is_shown(
    releases: tuple[FolderRelease, FolderRelease],
) -> None:
    assert len(changed(file(), releases)) == 4


def test_a_hunk_is_cut_to_the_function_that_it_is_about(
    releases: tuple[FolderRelease, FolderRelease],
) -> None:
    one = file(Chosen("Queue.add"))
    assert changed(one, releases) == ["self.items.append(one)", "self.items.insert(0, one)"]
    assert [hunk.inside for hunk in hunks(one, *releases)] == ["Queue.add"]


def test_a_hunk_may_be_chosen_by_a_word_that_it_changes(
    releases: tuple[FolderRelease, FolderRelease],
) -> None:
    assert len(changed(file(Chosen(mentioning=("insert",))), releases)) == 4
    assert changed(file(Chosen("Queue.size", ("insert",))), releases) == []


def test_nothing_is_shown_of_a_file_that_is_another(
    releases: tuple[FolderRelease, FolderRelease],
) -> None:
    with pytest.raises(WrongHash, match=r"vllm 1\.0: vllm/queue\.py"):
        hunks(file(old="other"), *releases)


@pytest.mark.parametrize("one", capstones(), ids=lambda one: str(one.number))
def test_every_capstone_names_its_files_with_their_sha256(one: Capstone) -> None:
    change = read_change(one.diff_file)
    assert change.files
    for each in change.files:
        assert {len(each.before_sha256), len(each.after_sha256)} == {64}
        assert each.before_sha256 != each.after_sha256
