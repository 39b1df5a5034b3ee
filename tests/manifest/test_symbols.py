"""The symbols that texts cite: found in a source, noted in a list."""

from pathlib import Path

import pytest

from grader.lessons import Lesson, names
from grader.oracle.environment import find_oracle, site_packages
from manifest import symbols
from manifest.release import FolderRelease
from manifest.symbols import Source, Symbol

MODULE = '''"""A module."""

LIMIT = 3


@decorated
class Pool:
    size: int = 4

    def __init__(self):
        self.free = []

    @property
    def usage(self):
        return 0.0


if LIMIT:

    def helper():
        pass
'''


@pytest.fixture
def source(tmp_path: Path) -> Source:
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm" / "pool.py").write_text(MODULE)
    return Source(FolderRelease(tmp_path, "1.0"))


@pytest.mark.parametrize(
    ("name", "kind", "first", "last"),
    [
        ("", "file", 1, 21),
        ("LIMIT", "variable", 3, 3),
        ("Pool", "class", 6, 15),
        ("Pool.size", "field", 8, 8),
        ("Pool.__init__", "method", 10, 11),
        ("Pool.free", "field", 11, 11),
        ("Pool.usage", "method", 13, 15),
        ("helper", "function", 20, 21),
    ],
)
def test_definitions_are_found(source: Source, name: str, kind: str, first: int, last: int) -> None:
    found = source.find(symbols.key_of("vllm/pool.py", name))
    assert found is not None
    assert (found.kind, found.first, found.last, found.file_lines) == (kind, first, last, 21)


@pytest.mark.parametrize("key", ["vllm/pool.py#Pool.touch", "vllm/gone.py", "vllm/pool.py#free"])
def test_what_is_not_there_is_not_found(source: Source, key: str) -> None:
    assert source.find(key) is None


def test_the_list_is_read_as_it_was_written(tmp_path: Path) -> None:
    entries = [
        Symbol("b.py", "B.c", "method", 1, 2, 3, "d" * 64, "e" * 64),
        Symbol("a.py", "", "file", 1, 9, 9, "0"),
    ]
    file = tmp_path / "symbols.yaml"
    file.write_text(symbols.dump(entries))
    assert list(symbols.load(file).items()) == [("a.py", entries[1]), ("b.py#B.c", entries[0])]


def test_without_a_list_nothing_is_known(tmp_path: Path) -> None:
    assert symbols.load(tmp_path / "none.yaml") == {}


@pytest.mark.skipif(find_oracle() is None, reason="needs the real vLLM: vllmlings oracle install")
def test_the_list_says_what_the_pinned_release_says() -> None:
    source = Source(FolderRelease(site_packages(), "0.30.0"))
    for key, symbol in symbols.load().items():
        assert source.find(key) == symbol


def test_every_citation_of_a_written_text_is_in_the_list() -> None:
    known = symbols.load()
    cited = {
        citation.key
        for text in (Lesson(name).text for name in names())
        if text.is_file()
        for citation in symbols.citations(text.read_text(encoding="utf-8"))
    }
    assert cited - known.keys() == set()
