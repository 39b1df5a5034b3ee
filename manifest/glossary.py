"""The course's terms: each in one line, with the lesson that teaches it, from `glossary.yaml`."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

GLOSSARY_FILE = Path(__file__).with_name("glossary.yaml")


class MalformedGlossary(ValueError):
    """`glossary.yaml` does not have the shape that its first lines describe."""


@dataclass(frozen=True, slots=True)
class Term:
    """A term, what it means in one line, the lesson that teaches it, and its other names.

    `means` is Markdown and may have links to symbols and facts, as a lesson's text may.
    """

    name: str
    means: str
    lesson: str
    also: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.also)


class UnknownTerm(LookupError):
    """The glossary has no such term; `near` are the nearest that it has."""

    def __init__(self, name: str, near: tuple[str, ...]) -> None:
        super().__init__(name, near)
        self.name = name
        self.near = near

    def __str__(self) -> str:
        guess = f"; did you mean {' or '.join(self.near)}?" if self.near else ""
        return f"{self.name}: not in the glossary{guess}"


@dataclass(frozen=True, slots=True)
class Glossary:
    """All terms, in the order of the alphabet.

    >>> load().find("Null Block").lesson
    'kv_cache/block_pool'
    """

    terms: tuple[Term, ...]

    def find(self, name: str) -> Term:
        """The term of that name, or of which it is another name; case and `_` do not count.

        Raises:
            UnknownTerm: with the nearest names.
        """
        names = {_plain(one): term for term in reversed(self.terms) for one in term.names}
        wanted = _plain(name)
        found = names.get(wanted) or names.get(wanted.removesuffix("s"))
        if found is not None:
            return found
        near = difflib.get_close_matches(wanted, names, n=3, cutoff=0.7)
        near += [one for one in names if wanted and wanted in one and one not in near]
        raise UnknownTerm(name, tuple(dict.fromkeys(names[one].name for one in near))[:3])

    def holding(self, word: str) -> tuple[Term, ...]:
        """The terms that have the word in one of their names.

        >>> [term.name for term in load().holding("preempt")]
        ['preemption']
        """
        wanted = _plain(word)
        return tuple(term for term in self.terms if any(wanted in _plain(n) for n in term.names))

    def of_lesson(self, lesson: str) -> tuple[Term, ...]:
        return tuple(term for term in self.terms if term.lesson == lesson)


def _plain(name: str) -> str:
    return " ".join(name.casefold().replace("_", " ").replace("-", " ").strip("` ").split())


@cache
def load(file: Path = GLOSSARY_FILE) -> Glossary:
    """Read the glossary.

    Raises:
        MalformedGlossary: an entry lacks something, or two terms have one name.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    data: dict[str, dict[str, Any]] = yaml.load(file.read_text(encoding="utf-8"), loader)
    terms = sorted((_term(str(name), entry, file) for name, entry in data.items()), key=_order)
    names = [name for term in terms for name in {_plain(one) for one in term.names}]
    if twice := {name for name in names if names.count(name) > 1}:
        raise MalformedGlossary(f"{file.name}: two terms have the name {min(twice)}")
    return Glossary(tuple(terms))


def _order(term: Term) -> tuple[str, str]:
    return _plain(term.name), term.name


def _term(name: str, entry: dict[str, Any], file: Path) -> Term:
    unknown = set(entry) - {"means", "lesson", "also"}
    try:
        if unknown:
            raise KeyError(min(unknown))
        return Term(name, entry["means"], entry["lesson"], tuple(entry.get("also", ())))
    except (KeyError, TypeError) as error:
        raise MalformedGlossary(f"{file.name}: {name}: unknown or missing: {error}") from error
