"""Progress survives crashes, unreadable files and two commands at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grader.files import write_atomically
from grader.progress import Progress

LESSON = "kv_cache/block_pool"

COUNT_FOR_EVER = """
import sys
from pathlib import Path
from grader.progress import Progress
progress = Progress(Path(sys.argv[1]))
print("ready", flush=True)
while True:
    with progress.change("kv_cache/block_pool") as record:
        record.hints_shown += 1
"""

COUNT_TO_TWENTY = COUNT_FOR_EVER.replace("while True:", "for _ in range(20):")


def test_a_change_is_on_disk_when_its_block_ends(tmp_path: Path) -> None:
    with Progress(tmp_path).change(LESSON) as record:
        record.hints_shown = 2
    assert Progress(tmp_path).of(LESSON).hints_shown == 2


def test_killed_while_writing_it_leaves_a_whole_file(tmp_path: Path) -> None:
    for delay in (0.0, 0.003, 0.01):
        with subprocess.Popen(
            [sys.executable, "-c", COUNT_FOR_EVER, str(tmp_path)], stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(delay)
            process.send_signal(signal.SIGKILL)
        progress = Progress(tmp_path)
        progress.of(LESSON)
        assert progress.set_aside is None


def test_two_commands_at_once_lose_no_change(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", COUNT_TO_TWENTY, str(tmp_path)], stdout=subprocess.DEVNULL
        )
        for _ in range(2)
    ]
    assert [process.wait() for process in processes] == [0, 0]
    assert Progress(tmp_path).of(LESSON).hints_shown == 40


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b'{"lessons": {"a": 3}}'])
def test_an_unreadable_file_is_set_aside_and_not_overwritten(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "progress.json").write_bytes(content)
    progress = Progress(tmp_path)
    with progress.change(LESSON) as record:
        record.hints_shown = 1
    assert progress.set_aside is not None
    assert progress.set_aside.read_bytes() == content
    assert Progress(tmp_path).of(LESSON).hints_shown == 1


def test_a_failed_write_leaves_the_old_content_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "state"
    write_atomically(file, "old")

    def fail(_descriptor: int) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="full"):
        write_atomically(file, "new")
    assert file.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_rewritten_file_keeps_its_permissions(tmp_path: Path) -> None:
    file = tmp_path / "state"
    write_atomically(file, "old")
    file.chmod(0o600)
    write_atomically(file, b"new")
    assert file.stat().st_mode & 0o777 == 0o600
