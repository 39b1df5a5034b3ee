"""The glossary: a term in one line, found by any of its names."""

from pathlib import Path

import pytest

from manifest import course, glossary
from manifest.glossary import MalformedGlossary, UnknownTerm
from manifest.mentions import text_files

TERMS = glossary.load()
TEXTS = "\n".join(
    one.read_text(encoding="utf-8") for one in text_files(course.load()).values()
).casefold()


@pytest.mark.parametrize(
    ("word", "term"),
    [
        ("null block", "null block"),
        ("Null Blocks", "null block"),
        ("ref_cnt", "reference count"),
        ("num computed tokens", "computed tokens"),
        ("`touch`", "touch"),
    ],
)
def test_a_term_is_found_by_any_of_its_names(word: str, term: str) -> None:
    assert TERMS.find(word).name == term


def test_an_unknown_term_offers_the_nearest() -> None:
    with pytest.raises(UnknownTerm, match=r"watermrk: .*did you mean watermark"):
        TERMS.find("watermrk")


@pytest.mark.parametrize("term", TERMS.terms, ids=lambda term: term.name)
def test_each_term_is_one_short_line(term: glossary.Term) -> None:
    assert "\n" not in term.means
    assert len(term.means) <= 140
    assert not term.means.endswith(".")


def test_every_written_lesson_teaches_terms() -> None:
    lessons = {one.lesson for one in TERMS.terms}
    assert [one.path for one in course.load().written if one.path not in lessons] == []


def test_what_a_lesson_teaches_the_texts_use() -> None:
    """In the terms' own words, or in others of the same stem."""
    written = {one.path for one in course.load().written}
    unused = [
        term.name
        for term in TERMS.terms
        if term.lesson in written
        and not any(word.casefold()[:6] in TEXTS for name in term.names for word in name.split())
    ]
    assert unused == []


def test_two_terms_cannot_have_one_name(tmp_path: Path) -> None:
    file = tmp_path / "glossary.yaml"
    entry = "{means: x, lesson: a/b}"
    file.write_text(f"a term: {entry}\nother: {{means: x, lesson: a/b, also: [a_term]}}\n")
    with pytest.raises(MalformedGlossary, match="two terms have the name a term"):
        glossary.load(file)


def test_an_entry_without_a_lesson_is_named(tmp_path: Path) -> None:
    file = tmp_path / "glossary.yaml"
    file.write_text("a term: {means: x}\n")
    with pytest.raises(MalformedGlossary, match=r"glossary.yaml: a term: .*lesson"):
        glossary.load(file)
