"""Which package index the reader's own pip uses, so that a mirror set for pip serves here too."""

from __future__ import annotations

import configparser
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class PipSettings:
    """`index` is the address of an index's simple API, `certificate` a file of trusted
    certificates; None where pip has its default."""

    index: str | None = None
    certificate: str | None = None


def pip_settings(environment: Mapping[str, str] = os.environ) -> PipSettings:
    """pip's settings by its own rules: global, user and site files, then the environment.

    >>> pip_settings({"PIP_CONFIG_FILE": os.devnull, "PIP_CERT": "ca.pem"}).certificate
    'ca.pem'
    """
    found: dict[str, str] = {}
    for file in _files(environment):
        found |= _global_section(file)
    for key in ("index-url", "cert"):
        variable = f"PIP_{key.upper().replace('-', '_')}"
        if environment.get(variable):
            found[key] = environment[variable]
    return PipSettings(found.get("index-url"), found.get("cert"))


def _files(environment: Mapping[str, str]) -> Iterator[Path]:
    """pip's configuration files, those that win last."""
    own = environment.get("PIP_CONFIG_FILE")
    if own == os.devnull:
        return
    home = Path(environment.get("HOME") or Path.home())
    for folder in reversed(environment.get("XDG_CONFIG_DIRS", "/etc/xdg").split(os.pathsep)):
        yield Path(folder) / "pip" / "pip.conf"
    yield Path("/Library/Application Support/pip/pip.conf")
    yield Path("/etc/pip.conf")
    yield home / ".pip" / "pip.conf"
    yield home / "Library" / "Application Support" / "pip" / "pip.conf"
    yield Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "pip" / "pip.conf"
    yield Path(sys.prefix) / "pip.conf"
    if own:
        yield Path(own)


def _global_section(file: Path) -> dict[str, str]:
    parser = configparser.RawConfigParser()
    try:
        parser.read(file, encoding="utf-8")
    except (configparser.Error, OSError, UnicodeDecodeError):
        # pip itself will complain of it.
        return {}
    section = parser["global"] if parser.has_section("global") else {}
    return {key.replace("_", "-"): value for key, value in section.items() if value}
