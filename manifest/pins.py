"""The releases and commits that the course is read from, held in `pins.yaml`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

PINS_FILE = Path(__file__).with_name("pins.yaml")


class MalformedPins(ValueError):
    """`pins.yaml` lacks something."""


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """A file of a release, and the sha256 of all of it."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class PinnedWheel(PinnedFile):
    """`record` is the sha256 of its RECORD, which lists the sha256 of each file in it."""

    record: str


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit, its day where it matters, and what the course needs it for."""

    commit: str
    date: date
    purpose: str


@dataclass(frozen=True, slots=True)
class Pins:
    """
    >>> load().version
    '0.30.0'
    """

    version: str
    released: date
    wheel: PinnedWheel
    sdist: PinnedFile
    main: Commit
    router_repository: str
    router_commit: str


@cache
def load(file: Path = PINS_FILE) -> Pins:
    """Read the pins.

    Raises:
        MalformedPins: the file lacks a key, or has one too many.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    data: dict[str, dict[str, Any]] = yaml.load(file.read_text(encoding="utf-8"), loader)
    try:
        vllm, router = data["vllm"], data["semantic_router"]
        return Pins(
            vllm["version"],
            vllm["released"],
            PinnedWheel(**vllm["wheel"]),
            PinnedFile(**vllm["sdist"]),
            Commit(**vllm["main"]),
            router["repository"],
            router["commit"],
        )
    except (KeyError, TypeError) as error:
        raise MalformedPins(f"{file.name}: {error}") from error


def dump(pins: Pins) -> str:
    """The pins as `load` reads them."""
    import yaml

    head = "".join(
        f"{line}\n"
        for line in PINS_FILE.read_text(encoding="utf-8").splitlines()
        if line.startswith("#")
    )
    wheel = {"name": pins.wheel.name, "sha256": pins.wheel.sha256, "record": pins.wheel.record}
    main = {"commit": pins.main.commit, "date": pins.main.date, "purpose": pins.main.purpose}
    vllm = {
        "version": pins.version,
        "released": pins.released,
        "wheel": wheel,
        "sdist": {"name": pins.sdist.name, "sha256": pins.sdist.sha256},
        "main": main,
    }
    router = {"repository": pins.router_repository, "commit": pins.router_commit}
    data = {"vllm": vllm, "semantic_router": router}
    return head + yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=1000)
