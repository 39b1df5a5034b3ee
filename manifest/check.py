"""Does what the course cites of vLLM hold at the pin?

Without a network: every citation is a known symbol, every fact in a text is its value, and every
entry is as it was when it was last read from the release (`manifest.seal`). Live: every entry is
read from the release anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from manifest import facts, glossary, pins, seal, symbols
from manifest.cited import ROOT, citing_files
from manifest.course import Course
from manifest.course import load as load_course
from manifest.facts import Fact, fact_links, says_value
from manifest.mentions import fact_key
from manifest.pins import Pins
from manifest.probes import ProbeFailed, modules
from manifest.release import Release
from manifest.seal import Seal
from manifest.symbols import Symbol, citations

_SIZE = re.compile(r"\]\(vllm:(?P<file>[^)#\s]+)[^)\s]*\)\)? \((?P<size>[\d,]+) lines\)")
_LIVE = "read it anew with `vllmlings manifest check --live`"


@dataclass(frozen=True, slots=True)
class Problem:
    """What does not hold: where, what is wrong, and how it is put right."""

    where: str
    what: str
    fix: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}; {self.fix}"


@dataclass(frozen=True, slots=True)
class Text:
    """A text that may cite: a lesson's, or the glossary."""

    name: str
    content: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """All that is checked, as it is checked in."""

    pins: Pins
    symbols: dict[str, Symbol]
    facts: dict[str, Fact]
    course: Course
    texts: tuple[Text, ...]
    seal: Seal

    @classmethod
    def load(cls, root: Path = ROOT) -> Manifest:
        course = load_course()
        files = {one.relative_to(root).as_posix(): one for one in citing_files(root)}
        texts = tuple(Text(name, one.read_text(encoding="utf-8")) for name, one in files.items())
        return cls(pins.load(), symbols.load(), facts.load(), course, texts, seal.load())

    def sealed(self) -> Seal:
        """The seal of the entries as they are."""
        record = self.pins.wheel.record
        return seal.seal_of(self.pins.version, record, self.symbols.values(), self.facts.values())

    @property
    def citation_count(self) -> int:
        return sum(len(citations(text.content)) for text in self.texts)

    @property
    def fact_link_count(self) -> int:
        return sum(1 for text in self.texts for _ in fact_links(text.content))


def check(manifest: Manifest, release: Release | None = None) -> list[Problem]:
    """All that does not hold. With a release its files are read, else the seal is asked.

    Raises:
        SourceError: a file of the release cannot be had.
    """
    found = [*_of_texts(manifest), *_of_entries(manifest)]
    found += _of_seal(manifest) if release is None else _of_release(manifest, release)
    return found


def check_live(manifest: Manifest) -> list[Problem]:
    """Against the files of the pinned release, as the package index has them.

    Raises:
        SourceError: a file cannot be had.
    """
    from manifest.published import published

    with published(manifest.pins.version) as release:
        return check(manifest, release)


def _of_texts(manifest: Manifest) -> Iterator[Problem]:
    for text in manifest.texts:
        for citation in citations(text.content):
            if citation.key not in manifest.symbols:
                fix = f"correct it, or note it with `vllmlings manifest add {citation.key}`"
                yield Problem(f"{text.name}:{citation.line}", f"{citation.key} is not known", fix)
        for link in fact_links(text.content):
            where = f"{text.name}:{link.line}"
            fact = manifest.facts.get(link.name)
            if fact is None:
                yield Problem(where, f"fact:{link.name} is not known", "add it to facts.yaml")
            elif not says_value(link.label, fact.value):
                fix = "correct the text"
                yield Problem(where, f"it says {link.label}, fact:{link.name} is {fact.value}", fix)
        yield from _of_sizes(manifest, text)


def _of_sizes(manifest: Manifest, text: Text) -> Iterator[Problem]:
    """A link to a file may be followed by its size: `(3,250 lines)`."""
    sizes = {one.file: one.file_lines for one in manifest.symbols.values()}
    for number, line in enumerate(text.content.splitlines(), start=1):
        for match in _SIZE.finditer(line):
            size = sizes.get(match["file"])
            if size is not None and int(match["size"].replace(",", "")) != size:
                what = f"{match['file']} has {size:,} lines, not {match['size']}"
                yield Problem(f"{text.name}:{number}", what, "correct the text")


def _of_entries(manifest: Manifest) -> Iterator[Problem]:
    cited = {one.key for text in manifest.texts for one in citations(text.content)}
    linked = {one.name for text in manifest.texts for one in fact_links(text.content)}
    lessons = {one.path for one in manifest.course}
    of_file: dict[str, Symbol] = {}
    for key, symbol in manifest.symbols.items():
        if key not in cited:
            yield Problem("symbols.yaml", f"nothing cites {key}", "cite it, or take it out")
        other = of_file.setdefault(symbol.file, symbol)
        if (other.sha256, other.file_lines) != (symbol.sha256, symbol.file_lines):
            what = f"{key} and {other.key} disagree about their file"
            yield Problem("symbols.yaml", what, _LIVE)
        if not 1 <= symbol.first <= symbol.last <= symbol.file_lines:
            yield Problem("symbols.yaml", f"{key} cannot stand on its lines", _LIVE)
    for name, fact in manifest.facts.items():
        if fact.lesson is None and name not in linked:
            fix = "link it, or name the `lesson` that will"
            yield Problem("facts.yaml", f"no text links {name}", fix)
        if fact.lesson is not None and fact.lesson not in lessons:
            yield Problem("facts.yaml", f"{name}: no lesson is called {fact.lesson}", "correct it")
    for term in glossary.load().terms:
        if term.lesson not in lessons:
            what = f"{term.name}: no lesson is called {term.lesson}"
            yield Problem("glossary.yaml", what, "correct it")


def _of_seal(manifest: Manifest) -> Iterator[Problem]:
    for key in manifest.seal.breaks(manifest.sealed()):
        name = "facts.yaml" if key.startswith("fact:") else "symbols.yaml"
        yield Problem(name, f"{key} was not checked as it is now", _LIVE)


def _of_release(manifest: Manifest, release: Release) -> Iterator[Problem]:
    source = symbols.Source(release)
    at = f"at vLLM {release.version}"
    for key, symbol in manifest.symbols.items():
        there = source.find(key)
        if there is None:
            yield Problem(
                "symbols.yaml", f"{key} is not there {at}", "correct or drop the citation"
            )
        elif there != symbol:
            fix = f"note it anew with `vllmlings manifest add {key}`"
            yield Problem("symbols.yaml", f"{key} is not what is there {at}", fix)
    opened = modules(release.read)
    for name, fact in manifest.facts.items():
        key = fact_key(name)
        try:
            value = fact.probe.read(opened).value
        except ProbeFailed as error:
            yield Problem("facts.yaml", f"{key}: {error.reason}", "correct its probe")
            continue
        if value != fact.value or isinstance(value, bool) != isinstance(fact.value, bool):
            what = f"{key} is {value!r} {at}, not {fact.value!r}"
            yield Problem("facts.yaml", what, "correct the fact and the texts that state it")
