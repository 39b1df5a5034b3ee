"""`vllmlings watch` in a real terminal: saves, keys, and the terminal as it was afterwards."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pseudo_terminal import LINES, Terminal, save

COMMAND = str(Path(sys.executable).with_name("vllmlings"))
LESSON = "kv_cache/block_pool"
WAITING = "q  quit"

# A job of its own that the shell has not put into the foreground, as `timeout` starts one.
_IN_THE_BACKGROUND = """
import os, sys
os.setpgid(0, 0)
with open(sys.argv[1], "w") as file:
    file.write(str(os.getpid()))
os.execv(sys.argv[2], sys.argv[2:])
"""


@pytest.fixture
def watch(home: Path) -> Iterator[Callable[..., Terminal]]:
    """Starts watching the block pool in a terminal of its own."""
    opened: list[Terminal] = []

    def start(lines: int = LINES) -> Terminal:
        command, env = [COMMAND, "watch", "block_pool"], {"VLLMLINGS_HOME": str(home)}
        terminal = Terminal(command, env, lines)
        opened.append(terminal)
        return terminal

    yield start
    for terminal in opened:
        terminal.__exit__(None, None, None)


def test_it_checks_at_once_and_waits(watch: Callable[[], Terminal]) -> None:
    terminal = watch()
    terminal.wait_for(f"Checking {LESSON} …", 2)
    terminal.wait_for("○ not started")
    terminal.wait_for("Write in that file and save it")
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
    terminal.wait_for("the next lesson, kv_cache/block_hashing")
    terminal.wait_for("vllmlings engine free_list --mine")
    terminal.wait_for(WAITING)
    terminal.press("n")
    terminal.wait_for("Checking kv_cache/block_hashing …")
    terminal.wait_for("○ not started")


def test_hint_and_list_are_a_key_away(watch: Callable[[], Terminal]) -> None:
    terminal = watch()
    terminal.wait_for(WAITING)
    terminal.press("h")
    terminal.wait_for("Hint 1 of 3")
    terminal.wait_for("h   one step further")
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


@pytest.mark.parametrize("lines", [24, 32, 45])
def test_a_verdict_fits_the_terminal(
    watch: Callable[..., Terminal], home: Path, solve: Callable[[str], Path], lines: int
) -> None:
    solution = solve(LESSON).read_text(encoding="utf-8")
    wrong = solution.replace("self._ref_cnt[block_id] += 1", "self._ref_cnt[block_id] += 2")
    save(home / "exercises" / f"{LESSON}.py", wrong)
    terminal = watch(lines)
    terminal.wait_for("✗ not passed yet")
    terminal.wait_for(WAITING)
    assert "✗ Examples of the docstrings" in terminal.text
    assert "the engine:" in terminal.text or "the example:" in terminal.text


def test_in_the_background_it_watches_without_keys_and_is_not_stopped(home: Path) -> None:
    pid = home / "pid"
    job = [sys.executable, "-c", _IN_THE_BACKGROUND, str(pid), COMMAND, "watch", "block_pool"]
    command = ["/bin/sh", "-c", f"{shlex.join(job)}; echo ended with $?"]
    with Terminal(command, {"VLLMLINGS_HOME": str(home)}) as terminal:
        terminal.wait_for("○ not started")
        terminal.wait_for("Waiting for the next save")
        save(home / "exercises" / f"{LESSON}.py", "def f(:\n")
        terminal.wait_for("✗ cannot be loaded")
        assert terminal.modes() == terminal.modes_before
        os.killpg(int(pid.read_text(encoding="utf-8")), signal.SIGTERM)
        terminal.wait_for(f"ended with {128 + signal.SIGTERM}")
        assert "ERROR" not in terminal.text
        assert terminal.modes() == terminal.modes_before


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
