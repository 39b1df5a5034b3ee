"""The seal: what was last found to hold at the pinned release, entry by entry.

`manifest check --live` reads the release itself and writes a digest of each entry that holds.
Without a network, an entry whose digest is as it was then still holds; one that somebody has
changed since, or that is new, must be checked live again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from manifest.facts import Fact
from manifest.mentions import fact_key
from manifest.symbols import Symbol

SEAL_FILE = Path(__file__).with_name("seal.yaml")
_HEAD = "# What `vllmlings manifest check --live` found to hold. Written by it.\n"
_LENGTH = 16


@dataclass(frozen=True, slots=True)
class Seal:
    """`record` is the sha256 of the release's own list of its files' sha256."""

    version: str
    record: str
    digests: Mapping[str, str]

    def breaks(self, now: Seal) -> list[str]:
        """The keys of entries that were not checked as they are now."""
        if (self.version, self.record) != (now.version, now.record):
            return list(now.digests)
        return [key for key, digest in now.digests.items() if self.digests.get(key) != digest]


def seal_of(version: str, record: str, symbols: Iterable[Symbol], facts: Iterable[Fact]) -> Seal:
    """The seal of entries as they are now."""
    entries: dict[str, dict[str, Any]] = {one.key: asdict(one) for one in symbols}
    for fact in facts:
        entries[fact_key(fact.name)] = {"value": fact.value, "probe": asdict(fact.probe)}
    return Seal(version, record, {key: _digest(entry) for key, entry in sorted(entries.items())})


def load(file: Path = SEAL_FILE) -> Seal:
    """The checked-in seal; one that seals nothing if there is none yet."""
    import yaml

    if not file.is_file():
        return Seal("", "", {})
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    data = yaml.load(file.read_text(encoding="utf-8"), loader)
    return Seal(data["version"], data["record"], data["digests"])


def dump(seal: Seal) -> str:
    """The seal as `load` reads it."""
    import yaml

    data = {"version": seal.version, "record": seal.record, "digests": dict(seal.digests)}
    return _HEAD + yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=1000)


def _digest(entry: dict[str, Any]) -> str:
    text = json.dumps(entry, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]
