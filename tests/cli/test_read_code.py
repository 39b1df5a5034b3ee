"""Below a lesson's text: a key shows the code that the text cites."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pseudo_terminal import Terminal

from grader.number_keys import LEAVE, NumberKeys
from grader.oracle.environment import find_oracle, site_packages
from grader.report.citations import number_citations
from manifest import pins, symbols

COMMAND = str(Path(sys.executable).with_name("vllmlings"))
NOWHERE = "http://127.0.0.1:9/simple/"
WAITING = "Enter: done"
TOUCH = "vllm/v1/core/block_pool.py"


def pressed(keys: str, highest: int) -> list[int]:
    numbers = NumberKeys(highest)
    return [found for key in keys if (found := numbers.press(key)) is not None]


@pytest.mark.parametrize(
    ("keys", "highest", "numbers"),
    [
        ("3", 5, [3]),
        ("12", 13, [12]),
        ("1\r", 13, [1]),
        ("2", 13, [2]),
        ("9\r", 5, [LEAVE]),
        ("1\x7f3", 13, [3]),
        ("0x1\n", 13, [1]),
        ("q", 3, [LEAVE]),
        ("\x1b", 3, [LEAVE]),
    ],
)
def test_a_number_is_taken_as_soon_as_it_is_clear(
    keys: str, highest: int, numbers: list[int]
) -> None:
    assert pressed(keys, highest) == numbers


def test_the_same_symbol_has_the_same_number() -> None:
    one, two = "[`a`](vllm:vllm/x.py#a)", "[b](vllm:vllm/x.py)"
    text, keys = number_citations(f"{one}, {two}, {one}")
    assert text == "`a` \\[1], b \\[2], `a` \\[1]"
    assert keys == ("vllm/x.py#a", "vllm/x.py")


@pytest.fixture
def reading(home: Path, tmp_path: Path) -> Iterator[Callable[[], Terminal]]:
    """Reads the block pool's text in a terminal, without a network."""
    opened: list[Terminal] = []

    def start() -> Terminal:
        env = {
            "VLLMLINGS_HOME": str(home),
            "VLLMLINGS_CACHE": str(tmp_path / "cache"),
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_INDEX_URL": NOWHERE,
            "PAGER": "cat",
        }
        opened.append(Terminal([COMMAND, "read", "block_pool"], env))
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.__exit__(None, None, None)


def number_of(name: str) -> int:
    text = (Path(__file__).parents[2] / "exercises/kv_cache/block_pool.md").read_text()
    return number_citations(text)[1].index(f"{TOUCH}#{name}") + 1


def test_what_is_not_to_be_had_is_told_in_a_line_and_the_reader_goes_on(
    reading: Callable[[], Terminal],
) -> None:
    terminal = reading()
    terminal.wait_for(WAITING)
    terminal.press(f"{number_of('BlockPool.touch')}")
    terminal.wait_for("not in the cache")
    terminal.wait_for(WAITING)
    terminal.press("\r")
    assert terminal.wait_for_end() == 0
    assert terminal.modes() == terminal.modes_before


@pytest.mark.skipif(find_oracle() is None, reason="needs the real vLLM: vllmlings oracle install")
def test_a_key_shows_the_code(reading: Callable[[], Terminal], tmp_path: Path) -> None:
    kept = tmp_path / "cache" / "vllm" / pins.load().version / "wheel" / TOUCH
    kept.parent.mkdir(parents=True)
    shutil.copy(site_packages() / TOUCH, kept)
    terminal = reading()
    terminal.wait_for(WAITING)
    terminal.press(f"{number_of('BlockPool.touch')}")
    terminal.wait_for("def touch(self")
    symbol = symbols.load()[f"{TOUCH}#BlockPool.touch"]
    assert f"{TOUCH}, lines {symbol.first}–{symbol.last} of {symbol.file_lines}" in terminal.text
    terminal.wait_for(WAITING)
    terminal.press("q")
    assert terminal.wait_for_end() == 0
