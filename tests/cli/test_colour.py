"""Colour in a terminal, none where it is not wanted; and a pager only in a terminal."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pseudo_terminal import Terminal

COMMAND = str(Path(sys.executable).with_name("vllmlings"))


@pytest.mark.parametrize("args", [("list",), ("engine", "first_steps")])
def test_a_terminal_gets_colour_unless_NO_COLOR_is_set(  # noqa: N802 (the variable's name)
    home: Path, args: tuple[str, ...]
) -> None:
    env = {"VLLMLINGS_HOME": str(home), "COLUMNS": ""}
    with Terminal([COMMAND, *args], env) as terminal:
        assert terminal.wait_for_end() == 0
        assert terminal.colours() - {"default"}
        coloured = terminal.text
    with Terminal([COMMAND, *args], env | {"NO_COLOR": "1"}) as terminal:
        assert terminal.wait_for_end() == 0
        assert terminal.colours() == {"default"}
        assert terminal.text == coloured


def test_the_text_goes_through_the_pager_in_a_terminal(home: Path, tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\necho THROUGH THE PAGER\nhead -3\n", encoding="utf-8")
    pager.chmod(0o755)
    env = {"VLLMLINGS_HOME": str(home), "PAGER": str(pager)}
    with Terminal([COMMAND, "read", "block_pool"], env) as terminal:
        terminal.wait_for("Enter: done")
        assert "THROUGH THE PAGER\nBlock pool\n" in terminal.text
        terminal.press("\r")
        assert terminal.wait_for_end() == 0
