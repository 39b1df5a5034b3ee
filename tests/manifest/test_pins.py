"""What the course is read from, and where it is asked for."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from manifest import pins
from manifest.pip_settings import PipSettings, pip_settings


def test_the_pins_are_read_as_they_were_written(tmp_path: Path) -> None:
    other = replace(pins.load(), version="0.31.0")
    file = tmp_path / "pins.yaml"
    file.write_text(pins.dump(other))
    assert pins.load(file) == other
    assert pins.dump(pins.load()) == pins.PINS_FILE.read_text()


def test_every_hash_is_whole() -> None:
    now = pins.load()
    for sha256 in (now.wheel.sha256, now.wheel.record, now.sdist.sha256):
        assert len(bytes.fromhex(sha256)) == 32
    assert len(bytes.fromhex(now.router_commit)) == 20


def test_a_lack_is_told(tmp_path: Path) -> None:
    file = tmp_path / "pins.yaml"
    file.write_text("vllm: {version: 1}")
    with pytest.raises(pins.MalformedPins, match=r"pins.yaml"):
        pins.load(file)


def test_pips_own_index_is_used(tmp_path: Path) -> None:
    user = tmp_path / "pip" / "pip.conf"
    user.parent.mkdir()
    user.write_text("[global]\nindex_url = https://mirror.example/simple\ncert = ca.pem\n")
    own = tmp_path / "own.conf"
    own.write_text("[global]\nindex-url = https://own.example/simple\n")
    plain = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "XDG_CONFIG_DIRS": "/none"}
    assert pip_settings(plain) == PipSettings("https://mirror.example/simple", "ca.pem")
    with_own = plain | {"PIP_CONFIG_FILE": str(own)}
    assert pip_settings(with_own) == PipSettings("https://own.example/simple", "ca.pem")
    by_variable = with_own | {"PIP_INDEX_URL": "https://here.example/simple"}
    assert pip_settings(by_variable).index == "https://here.example/simple"


def test_pip_may_be_told_to_have_no_settings() -> None:
    assert pip_settings({"PIP_CONFIG_FILE": os.devnull}) == PipSettings()


def test_a_settings_file_that_is_none_is_left_to_pip(tmp_path: Path) -> None:
    (tmp_path / "own.conf").write_text("no section\n")
    found = pip_settings({"HOME": "/none", "PIP_CONFIG_FILE": str(tmp_path / "own.conf")})
    assert found.index is None
