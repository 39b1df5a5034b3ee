"""What a person types is found in a release: names, files, lines."""

from __future__ import annotations

import pytest
from trees_kit import NEW, OLD, POOL

from manifest.errors import NoSuchFile
from manifest.finding import Ambiguous, BadLines, Finder, NotFound
from manifest.symbols import Source, Symbol

SOURCE = Source(OLD)


def known(*names: str) -> dict[str, Symbol]:
    found = [SOURCE.find(f"{POOL}#{name}") for name in names]
    return {symbol.key: symbol for symbol in found if symbol is not None}


@pytest.fixture
def finder() -> Finder:
    return Finder(OLD, known("Pool.take"), OLD.version)


@pytest.mark.parametrize(
    "wanted",
    [
        f"{POOL}#Pool.take",
        f"vllm:{POOL}#Pool.take",
        "pool.py#Pool.take",
        "Pool.take",
        "take",
        "vllm.core.pool.Pool.take",
    ],
)
def test_a_definition_has_many_names(finder: Finder, wanted: str) -> None:
    excerpt = finder.find(wanted)
    assert excerpt.key == f"{POOL}#Pool.take"
    assert excerpt.kind == "method"
    assert "def take" in excerpt.lines[excerpt.first - 1]


def test_what_is_not_cited_is_found_in_the_file_named_after_it() -> None:
    assert Finder(OLD, {}).find("Pool").key == f"{POOL}#Pool"


def test_what_is_not_cited_is_found_in_a_cited_file(finder: Finder) -> None:
    other = next(n for n in SOURCE.file(POOL).module.definitions if n.partition(".")[0] != "Pool")
    assert finder.find(other).file == POOL


@pytest.mark.parametrize("wanted", [POOL, "pool.py", "core/pool.py", "vllm.core.pool"])
def test_a_whole_file_may_be_named_by_its_end(finder: Finder, wanted: str) -> None:
    excerpt = finder.find(wanted)
    assert (excerpt.file, excerpt.first, excerpt.last) == (POOL, 1, len(excerpt.lines))


@pytest.mark.parametrize(("wanted", "lines"), [("pool.py:3", (3, 3)), ("pool.py:3-5", (3, 5))])
def test_lines_of_a_file(finder: Finder, wanted: str, lines: tuple[int, int]) -> None:
    excerpt = finder.find(wanted)
    assert (excerpt.first, excerpt.last) == lines


@pytest.mark.parametrize("wanted", ["pool.py:0", "pool.py:5-3", "pool.py:1-99999"])
def test_lines_that_are_not_there_are_refused(finder: Finder, wanted: str) -> None:
    with pytest.raises(BadLines, match="the file has lines 1 to"):
        finder.find(wanted)


@pytest.mark.parametrize("wanted", ["Pool.tak", "pool.py#Pool.tak"])
def test_what_is_not_there_is_told_with_what_is_like_it(finder: Finder, wanted: str) -> None:
    with pytest.raises(NotFound) as caught:
        finder.find(wanted)
    assert caught.value.near == ("Pool.take",)
    with pytest.raises(NoSuchFile):
        finder.find("vllm/none.py")


def test_a_name_of_several_things_is_refused_with_their_keys() -> None:
    with pytest.raises(Ambiguous) as caught:
        Finder(OLD, {}).find("__init__.py")
    assert caught.value.keys == ("vllm/__init__.py", "vllm/core/__init__.py")


def test_of_another_release_the_lines_are_its_own() -> None:
    moved = Finder(NEW, known("Pool.take"), OLD.version).find("Pool.take")
    assert moved.version == NEW.version
    assert "def take" in moved.lines[moved.first - 1]
