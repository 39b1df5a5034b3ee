"""Moving the pin to another release: what stands in the way, and what is rewritten."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from manifest import facts, pins, seal, symbols
from manifest.check import Manifest
from manifest.cited import ROOT
from manifest.drift import Drift, FactDrift, SymbolDrift
from manifest.edits import change_facts, cite_anew, state_anew
from manifest.facts import Fact
from manifest.pins import Pins
from manifest.probes import ProbeFailed, modules
from manifest.release import Release
from manifest.symbols import Source, Symbol

_READ_BY_PEOPLE = (".md", ".py", ".toml", ".txt", ".yaml", ".yml")
_NOT_OURS = (".git", ".venv", ".oracle", "node_modules", "__pycache__")


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why the pin cannot move: a key that is gone, or was mapped to nothing. `offers` are keys
    that it may be mapped to."""

    key: str
    problem: str
    offers: tuple[str, ...] = ()


class Blocked(Exception):
    """Nothing was changed: each obstacle must be mapped or dropped first."""

    def __init__(self, obstacles: tuple[Obstacle, ...]) -> None:
        super().__init__(obstacles)
        self.obstacles = obstacles

    def __str__(self) -> str:
        count = len(self.obstacles)
        return f"{count} {'entry' if count == 1 else 'entries'} must be mapped or dropped first"


@dataclass(frozen=True, slots=True)
class Decisions:
    """A person's: old key to new one (`fact:name` to the definition where it is read now), and
    the keys that are to be dropped."""

    maps: Mapping[str, str]
    drops: Collection[str]


@dataclass(frozen=True, slots=True)
class Repinned:
    """What a repin writes: all of it, by path. `naming` are other files that name the old
    release, for a person to look at."""

    drift: Drift
    contents: Mapping[Path, str]
    dropped: tuple[str, ...]
    naming: tuple[str, ...]


def repin(
    manifest: Manifest,
    drift: Drift,
    release: Release,
    new_pins: Pins,
    decisions: Decisions,
    root: Path = ROOT,
) -> Repinned:
    """Work out what is to be written. Nothing is written here.

    Raises:
        Blocked: something is gone, and nobody has said what is to become of it.
        SourceError: a file of the release cannot be had.
    """
    source, opened = Source(release), modules(release.read)
    targets, obstacles = _targets(drift, source, decisions)
    known = {one.key for one in drift.symbols} | {one.key for one in drift.facts}
    for key in (*decisions.maps, *sorted(decisions.drops)):
        if key not in known:
            obstacles.append(Obstacle(key, "the manifest has no such entry"))
    new_facts = {}
    for one in drift.facts:
        fact = _fact(manifest.facts[one.name], one, decisions)
        try:
            if fact is not None:
                value = fact.probe.read(opened).value
                new_facts[one.name] = Fact(fact.name, fact.says, value, fact.probe, fact.lesson)
        except ProbeFailed as error:
            obstacles.append(Obstacle(one.key, error.reason))
    if obstacles:
        raise Blocked(tuple(obstacles))
    found = {target: _symbol(source, target) for target in targets.values() if target}
    contents = dict(_contents(manifest, targets, found, new_facts, new_pins, root))
    gone = [key for key, target in targets.items() if target is None]
    gone += [one.key for one in drift.facts if one.name not in new_facts]
    naming = tuple(sorted(_naming(drift.old, root)))
    return Repinned(drift, contents, tuple(gone), naming)


def plan(version: str, decisions: Decisions) -> Repinned:
    """The repin to the release of that version, as the package index has it.

    Raises:
        Blocked: see `repin`.
        SourceError: one of the two releases cannot be had.
    """
    from manifest.drift import compare_with
    from manifest.published import published

    with published() as old, published(version) as new:
        return repin(Manifest.load(), compare_with(old, new), new, new.pins(), decisions)


def _targets(
    drift: Drift, source: Source, decisions: Decisions
) -> tuple[dict[str, str | None], list[Obstacle]]:
    """Where each citation leads from now on; None: nowhere."""
    targets: dict[str, str | None] = {}
    obstacles = []
    for one in drift.symbols:
        chosen = decisions.maps.get(one.key)
        if one.key in decisions.drops:
            targets[one.key] = None
        elif chosen is not None:
            targets[one.key] = chosen
            if source.find(chosen) is None:
                obstacles.append(Obstacle(one.key, f"{chosen} is not there either", one.near))
        elif one.new is None:
            obstacles.append(Obstacle(one.key, "gone", one.near))
        elif one.status == "renamed" and one.score != 1.0:
            obstacles.append(_guess(one, one.new.key))
        else:
            targets[one.key] = one.new.key
    return targets, obstacles


def _guess(one: SymbolDrift, key: str) -> Obstacle:
    return Obstacle(one.key, f"perhaps renamed, likeness {one.score or 0:.2f}", (key,))


def _fact(fact: Fact, one: FactDrift, decisions: Decisions) -> Fact | None:
    """The fact with the probe for the new release; None if it is dropped."""
    if one.key in decisions.drops:
        return None
    file, _, symbol = (decisions.maps.get(one.key) or one.place or fact.probe.key).partition("#")
    probe = fact.probe.moved_to(file, symbol)
    return Fact(fact.name, fact.says, fact.value, probe, fact.lesson)


def _symbol(source: Source, key: str) -> Symbol:
    symbol = source.find(key)
    if symbol is None:
        raise AssertionError(f"{key} was there a moment ago")
    return symbol


def _contents(
    manifest: Manifest,
    targets: Mapping[str, str | None],
    found: Mapping[str, Symbol],
    new_facts: Mapping[str, Fact],
    new_pins: Pins,
    root: Path,
) -> Iterator[tuple[Path, str]]:
    """The manifest's files, and the texts that change."""
    old = manifest.facts
    values = {name: one.value for name, one in new_facts.items() if one.value != old[name].value}
    places = {
        name: one.probe.key
        for name, one in new_facts.items()
        if one.probe.key != old[name].probe.key
    }
    dropped = frozenset(old) - frozenset(new_facts)
    for text in manifest.texts:
        content = state_anew(cite_anew(text.content, targets), values, dropped)
        if content != text.content:
            yield root / text.name, content
    folder = root / "manifest"
    file = folder / facts.FACTS_FILE.name
    yield file, change_facts(file.read_text(encoding="utf-8"), values, places, dropped)
    yield folder / symbols.SYMBOLS_FILE.name, symbols.dump(found.values())
    yield folder / pins.PINS_FILE.name, pins.dump(new_pins)
    record = new_pins.wheel.record
    sealed = seal.seal_of(new_pins.version, record, found.values(), new_facts.values())
    yield folder / seal.SEAL_FILE.name, seal.dump(sealed)


def _naming(version: str, root: Path) -> Iterator[str]:
    for folder, inside, names in os.walk(root):
        inside[:] = [one for one in inside if one not in _NOT_OURS]
        for name in names:
            path = Path(folder, name)
            if path.suffix in _READ_BY_PEOPLE and path.parent.name != "manifest":
                try:
                    text = path.read_text(encoding="utf-8")
                except (OSError, UnicodeDecodeError):
                    continue
                if version in text:
                    yield path.relative_to(root).as_posix()
