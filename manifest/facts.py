"""Facts of vLLM that the texts state: constants, defaults, environment variables.

A text has a fact's value as the label of a link, `[2,048](fact:default_max_num_batched_tokens)`,
so that a number cannot be right in one place and old in another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from manifest.probes import KEYS, BadProbe, Probe

FACTS_FILE = Path(__file__).with_name("facts.yaml")
LINK = re.compile(r"\[(?P<label>[^\]]+)\]\(fact:(?P<name>[a-z0-9_]+)\)")
_OWN = ("says", "value", "lesson")
_WORDS = ("zero", "one", "two", "three", "four", "five", "six")
_MARKS = '`*"'
_SIZES = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


class MalformedFacts(ValueError):
    """`facts.yaml` does not have the shape that its first lines describe."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact; `lesson` is where it belongs, if a text has no link to it yet."""

    name: str
    says: str
    value: Any
    probe: Probe
    lesson: str | None = None


@dataclass(frozen=True, slots=True)
class FactLink:
    """A link of a text to a fact: the label is what the reader sees."""

    line: int
    label: str
    name: str


def fact_links(text: str) -> Iterator[FactLink]:
    """
    >>> next(fact_links("Blocks of [16](fact:default_block_size) tokens."))
    FactLink(line=1, label='16', name='default_block_size')
    """
    for number, line in enumerate(text.splitlines(), start=1):
        for match in LINK.finditer(line):
            yield FactLink(number, match["label"], match["name"])


def without_links(text: str) -> str:
    """The text as it is read: each link to a fact is its label.

    >>> without_links("Blocks of [16](fact:default_block_size) tokens.")
    'Blocks of 16 tokens.'
    """
    return LINK.sub(lambda match: match["label"], text)


def says_value(label: str, value: Any) -> bool:
    """Is the label a way to write the value?

    Numbers may have commas at the thousands, be a word up to six, or a size (`24 MiB`); what
    is true is `on`, what is false `off`. Code marks and stars do not count.

    >>> says_value("`2,048`", 2048), says_value("two", 2), says_value("on", True)
    (True, True, True)
    >>> says_value("1", True), says_value("2,047", 2048)
    (False, False)
    """
    plain = label.strip(_MARKS)
    if isinstance(value, bool):
        return plain.lower() in (("on", "true") if value else ("off", "false"))
    if value is None:
        return plain in ("None", "not set", "unset")
    if isinstance(value, int | float):
        number = _number(plain)
        return number is not None and number == value
    return plain == (value.decode("latin-1") if isinstance(value, bytes) else str(value))


def write_value(label: str, value: Any) -> str:
    """The value written as the label writes another one: same marks, commas and words.

    >>> write_value("`2,048`", 16384), write_value("two", 3), write_value("on", False)
    ('`16,384`', 'three', 'off')
    """
    plain = label.strip(_MARKS)
    before, _, after = label.partition(plain)
    return before + _plain(plain, value) + after


def _plain(old: str, value: Any) -> str:
    if isinstance(value, bool):
        words = ("on", "off") if old.lower() in ("on", "off") else ("true", "false")
        return words[0] if value else words[1]
    if isinstance(value, int) and old.lower() in _WORDS and 0 <= value < len(_WORDS):
        word = _WORDS[value]
        return word.capitalize() if old[0].isupper() else word
    unit = old.rpartition(" ")[2]
    if unit in _SIZES and isinstance(value, int) and value % _SIZES[unit] == 0:
        return f"{value // _SIZES[unit]} {unit}"
    if isinstance(value, int | float):
        commas = isinstance(value, int) and value >= 1000 and ("," in old or len(old) < 4)
        return (f"{value:,}" if commas else str(value)).replace("-", "−" if "−" in old else "-")
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _number(text: str) -> float | None:
    if text.lower() in _WORDS:
        return _WORDS.index(text.lower())
    number, _, unit = text.replace("−", "-").partition(" ")
    if unit and unit not in _SIZES:
        return None
    try:
        return float(number.replace(",", "")) * _SIZES.get(unit, 1)
    except ValueError:
        return None


@cache
def load(file: Path = FACTS_FILE) -> dict[str, Fact]:
    """All facts by name.

    Raises:
        MalformedFacts: an entry lacks a key, has an unknown one, or a probe that makes no sense.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    data: dict[str, dict[str, Any]] = yaml.load(file.read_text(encoding="utf-8"), loader) or {}
    return {name: _fact(name, entry, file) for name, entry in data.items()}


def _fact(name: str, entry: dict[str, Any], file: Path) -> Fact:
    missing = [key for key in ("says", "value") if key not in entry]
    unknown = set(entry) - {*_OWN, *KEYS}
    if missing or unknown:
        problem = f"lacks {missing[0]}" if missing else f"unknown key {min(unknown)}"
        raise MalformedFacts(f"{file.name}: {name}: {problem}")
    try:
        probe = Probe.of({key: value for key, value in entry.items() if key in KEYS})
    except BadProbe as error:
        raise MalformedFacts(f"{file.name}: {name}: {error}") from error
    return Fact(name, entry["says"], entry["value"], probe, entry.get("lesson"))
