"""The list of symbols, brought in line with a source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from manifest.symbols import Source, Symbol


@dataclass(frozen=True, slots=True)
class Noted:
    """What has become of the list: keys new in it, with another entry now, no longer in it, and
    those that the source does not have, which are not in the list either."""

    symbols: Mapping[str, Symbol]
    added: tuple[str, ...]
    changed: tuple[str, ...]
    dropped: tuple[str, ...]
    missing: tuple[str, ...]


def note(
    before: Mapping[str, Symbol], source: Source, keys: Iterable[str], only: bool = False
) -> Noted:
    """The entries of `keys` as the source has them; with `only`, all others are forgotten.

    Raises:
        SourceError: the source cannot be had.
    """
    wanted = sorted(set(keys))
    found = {key: symbol for key in wanted if (symbol := source.find(key)) is not None}
    missing = tuple(key for key in wanted if key not in found)
    rest = {} if only else {key: one for key, one in before.items() if key not in missing}
    after = dict(sorted((rest | found).items()))
    return Noted(
        after,
        added=tuple(key for key in after if key not in before),
        changed=tuple(key for key in after if key in before and before[key] != after[key]),
        dropped=tuple(key for key in before if key not in after),
        missing=missing,
    )
