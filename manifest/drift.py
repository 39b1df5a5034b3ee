"""What another release has changed in what the course teaches.

Only the files that the course cites are read, and a few more where something has left its file.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from manifest.course import Course
from manifest.errors import NoSuchFile
from manifest.facts import Fact
from manifest.mentions import Mention, fact_key
from manifest.probes import ProbeFailed
from manifest.release import Release
from manifest.shapes import changed_lines
from manifest.symbols import Symbol
from manifest.tracing import Place, Tree, near, trace

Status = Literal["unchanged", "moved", "changed", "renamed", "gone"]
STATUSES: tuple[Status, ...] = ("gone", "renamed", "changed", "moved", "unchanged")
FactStatus = Literal["same", "changed", "gone"]


@dataclass(frozen=True, slots=True)
class SymbolDrift:
    """What has become of a cited symbol.

    `moved`: the same code, on other lines or in another file. `changed`: other code under the
    same name, with the lines added and removed. `renamed`: found under another name, by its
    shape. `gone`: nothing is like it; `near` has the same last name. `score` says how like the
    old one is what was found by its shape (1.0: the same).
    """

    key: str
    status: Status
    old: Place
    new: Place | None
    added: int = 0
    removed: int = 0
    score: float | None = None
    near: tuple[str, ...] = ()

    @property
    def left_its_file(self) -> bool:
        return self.new is not None and self.new.file != self.old.file


@dataclass(frozen=True, slots=True)
class FactDrift:
    """A fact's value in both releases; `gone` says why it cannot be read, in `reason`."""

    name: str
    says: str
    status: FactStatus
    old: Any
    new: Any = None
    place: str = ""
    line: int = 0
    reason: str = ""

    @property
    def key(self) -> str:
        return fact_key(self.name)


@dataclass(frozen=True, slots=True)
class LessonDrift:
    """A lesson to review: what it cites that is other code now, and the sentences that do.

    `keys` may hold facts of lessons that are not written yet: they have no sentences.
    """

    lesson: str
    keys: tuple[str, ...]
    sentences: tuple[Mention, ...]


@dataclass(frozen=True, slots=True)
class Drift:
    """From one release to another. Symbols and facts are in the manifest's order."""

    old: str
    new: str
    symbols: tuple[SymbolDrift, ...]
    facts: tuple[FactDrift, ...]
    lessons: tuple[LessonDrift, ...]

    def count(self, status: Status) -> int:
        return sum(one.status == status for one in self.symbols)

    @property
    def changed_facts(self) -> tuple[FactDrift, ...]:
        return tuple(one for one in self.facts if one.status != "same")


def compare(
    old: Release,
    new: Release,
    symbols: Iterable[Symbol],
    facts: Iterable[Fact],
    mentions: Iterable[Mention],
    course: Course,
) -> Drift:
    """Compare what the course cites.

    Raises:
        SourceError: a file of one of the two cannot be had.
    """
    before, after = Tree(old), Tree(new)
    known = list(facts)
    symbol_drifts = [symbol_drift(before, after, one) for one in symbols]
    fact_drifts = [fact_drift(before, after, one) for one in known]
    homes = {fact_key(fact.name): fact.lesson for fact in known if fact.lesson}
    lessons = _lessons(symbol_drifts, fact_drifts, list(mentions), homes, course)
    return Drift(old.version, new.version, tuple(symbol_drifts), tuple(fact_drifts), lessons)


def compare_releases(version: str | None = None) -> Drift:
    """What the course cites at its pin, and in the release of that version or the newest one.

    Raises:
        SourceError: one of the two releases cannot be had.
    """
    from manifest.published import published

    with published() as old, published(version or old.index.newest()) as new:
        return compare_with(old, new)


def compare_with(old: Release, new: Release) -> Drift:
    """The same, of two releases that are at hand."""
    from manifest import course, facts, mentions, symbols

    lessons = course.load()
    cited, stated = symbols.load().values(), facts.load().values()
    return compare(old, new, cited, stated, mentions.mentions(lessons), lessons)


def symbol_drift(old: Tree, new: Tree, symbol: Symbol) -> SymbolDrift:
    """What has become of one symbol."""
    if not symbol.name:
        return _file_drift(old, new, symbol)
    place = Place(symbol.file, symbol.name, symbol.first, symbol.last)
    found = trace(old, new, symbol.file, symbol.name)
    if found is None:
        others = near(new, symbol.file, symbol.name)
        return SymbolDrift(symbol.key, "gone", place, None, near=others)
    added = removed = 0
    there = new.shape(found.place.file, found.place.name)
    same = there is not None and there.digest == _digest(old, symbol)
    if not same:
        added, removed = changed_lines(old.lines(place), new.lines(found.place))
    if found.place.name != symbol.name:
        status: Status = "renamed"
    elif not same:
        status = "changed"
    else:
        status = "unchanged" if found.place == place else "moved"
    return SymbolDrift(symbol.key, status, place, found.place, added, removed, found.score)


def fact_drift(old: Tree, new: Tree, fact: Fact) -> FactDrift:
    """What has become of one fact; if its definition has moved, it is read where that is now."""
    probe = fact.probe
    try:
        try:
            reading = probe.read(new.module)
        except ProbeFailed as error:
            moved = trace(old, new, probe.file, probe.symbol) if error.gone else None
            if moved is None or moved.place.key == probe.key:
                raise
            probe = probe.moved_to(moved.place.file, moved.place.name)
            reading = probe.read(new.module)
    except ProbeFailed as error:
        return FactDrift(fact.name, fact.says, "gone", fact.value, reason=error.reason)
    status: FactStatus = "same" if reading.value == fact.value else "changed"
    return FactDrift(
        fact.name, fact.says, status, fact.value, reading.value, probe.key, reading.line
    )


def _digest(old: Tree, symbol: Symbol) -> str:
    """As the manifest has it, so that what is unchanged is read from one release alone."""
    shape = None if symbol.tree else old.shape(symbol.file, symbol.name)
    return shape.digest if shape else symbol.tree


def _file_drift(old: Tree, new: Tree, symbol: Symbol) -> SymbolDrift:
    place = Place(symbol.file, "", 1, symbol.file_lines)
    before = _text(old, symbol.file)
    after = _text(new, symbol.file)
    if after is None or before is None:
        return SymbolDrift(symbol.key, "gone", place, None)
    added, removed = changed_lines(before, after)
    status: Status = "changed" if added or removed else "unchanged"
    there = Place(symbol.file, "", 1, len(after))
    return SymbolDrift(symbol.key, status, place, there, added, removed)


def _text(tree: Tree, file: str) -> list[str] | None:
    try:
        return tree.release.read(file).decode("utf-8", "replace").splitlines()
    except NoSuchFile:
        return None


def _lessons(
    symbols: list[SymbolDrift],
    facts: list[FactDrift],
    mentions: list[Mention],
    homes: dict[str, str],
    course: Course,
) -> tuple[LessonDrift, ...]:
    other = {one.key for one in symbols if one.status in ("changed", "renamed", "gone")}
    other |= {one.key for one in facts if one.status != "same"}
    found = []
    for lesson in course:
        sentences = [one for one in mentions if one.lesson == lesson.path and one.key in other]
        keys = dict.fromkeys(one.key for one in sentences)
        keys |= dict.fromkeys(key for key in sorted(other) if homes.get(key) == lesson.path)
        if keys:
            found.append(LessonDrift(lesson.path, tuple(keys), tuple(sentences)))
    return tuple(found)
