"""`vllmlings watch` in a real terminal: saves, keys, and the terminal as it was afterwards."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pseudo_terminal import Terminal, save

COMMAND = str(Path(sys.executable).with_name("vllmlings"))
LESSON = "kv_cache/block_pool"
WAITING = "q  quit"


@pytest.fixture
def watch(home: Path) -> Iterator[Callable[[], Terminal]]:
    """Starts watching the block pool in a terminal of its own."""
    opened: list[Terminal] = []

    def start() -> Terminal:
        terminal = Terminal([COMMAND, "watch", "block_pool"], {"VLLMLINGS_HOME": str(home)})
        opened.append(terminal)
        return terminal

    yield start
    for terminal in opened:
        terminal.__exit__(None, None, None)


def test_it_checks_at_once_and_waits(watch: Callable[[], Terminal]) -> None:
    terminal = watch()
    terminal.wait_for(f"Checking {LESSON} …", 2)
    terminal.wait_for("○ not started")
    terminal.wait_for(WAITING)


def test_a_save_is_checked_and_a_pass_leads_on(
    watch: Callable[[], Terminal], home: Path, solve: Callable[[str], Path]
) -> None:
    terminal = watch()
    terminal.wait_for(WAITING)
    terminal.press("n")
    terminal.wait_for(f"{LESSON} has not passed yet")
    solution = solve(LESSON).read_text(encoding="utf-8")
    terminal.wait_for("✓ passed  20 of 20 points")
    exercise = home / "exercises" / f"{LESSON}.py"
    save(exercise, solution.replace("self._ref_cnt[block_id] = 1", "pass"))
    terminal.wait_for("✗ not passed yet")
    save(exercise, solution)
    terminal.wait_for("✓ passed  20 of 20 points")
    terminal.wait_for(WAITING)
    terminal.press("n")
    terminal.wait_for("Checking kv_cache/block_hashing …")
    terminal.wait_for("○ not started")


def test_hint_and_list_are_a_key_away(watch: Callable[[], Terminal]) -> None:
    terminal = watch()
    terminal.wait_for(WAITING)
    terminal.press("h")
    terminal.wait_for("Hint 1 of 3")
    terminal.press("h")
    terminal.wait_for("Hint 2 of 3")
    terminal.press("r")
    terminal.wait_for("○ not started")
    terminal.press("l")
    terminal.wait_for("The KV cache  kv_cache")


def test_a_syntax_error_is_told_and_watching_goes_on(
    watch: Callable[[], Terminal], home: Path
) -> None:
    terminal = watch()
    terminal.wait_for(WAITING)
    save(home / "exercises" / f"{LESSON}.py", "def f(:\n")
    terminal.wait_for("✗ cannot be loaded")
    terminal.wait_for(WAITING)


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (lambda terminal: terminal.press("q"), 0),
        (lambda terminal: terminal.press("\x03"), 0),
        (lambda terminal: terminal.process.send_signal(signal.SIGTERM), 128 + signal.SIGTERM),
        (lambda terminal: terminal.process.send_signal(signal.SIGHUP), 128 + signal.SIGHUP),
    ],
    ids=["q", "Ctrl-C", "SIGTERM", "SIGHUP"],
)
def test_the_terminal_is_left_as_it_was(
    watch: Callable[[], Terminal], end: Callable[[Terminal], object], code: int
) -> None:
    terminal = watch()
    terminal.wait_for(WAITING)
    assert terminal.modes() != terminal.modes_before
    end(terminal)
    assert terminal.wait_for_end() == code
    assert terminal.modes() == terminal.modes_before
    assert "Traceback" not in terminal.text


def test_ctrl_c_while_it_checks_leaves_the_terminal_as_it_was(
    watch: Callable[[], Terminal], home: Path
) -> None:
    terminal = watch()
    terminal.wait_for(WAITING)
    save(home / "exercises" / f"{LESSON}.py", "while True:\n    pass\n")
    terminal.wait_for(f"Checking {LESSON} …")
    time.sleep(0.5)
    terminal.press("\x03")
    assert terminal.wait_for_end() == 0
    assert terminal.modes() == terminal.modes_before
    assert "Traceback" not in terminal.text


def test_a_suspended_watch_gives_the_terminal_back(watch: Callable[[], Terminal]) -> None:
    terminal = watch()
    terminal.wait_for(WAITING)
    terminal.process.send_signal(signal.SIGTSTP)
    until = time.monotonic() + 5
    while terminal.modes() != terminal.modes_before:
        assert time.monotonic() < until
        time.sleep(0.02)
    terminal.process.send_signal(signal.SIGCONT)
    while terminal.modes() == terminal.modes_before:
        assert time.monotonic() < until
        time.sleep(0.02)
    terminal.press("q")
    assert terminal.wait_for_end() == 0
