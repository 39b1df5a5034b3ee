"""Hostile submissions: each gets the verdict that it deserves, and touches nothing outside."""

from __future__ import annotations

import functools
import hashlib
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from attack import ATTACKS, LESSON, Attack, Base, base_source

from grader.runner import grade
from grader.runner.interpreter import Interpreter
from grader.sandbox import SEALED, choose
from grader.verdict import Verdict

ROOT = Path(__file__).parents[2]
#: Folders that a submission has no business in.
OUTSIDE = [Path("/var/tmp"), Path("/dev/shm"), Path.home(), ROOT, ROOT / "tests"]
_SLOWEST = 60.0


def graded(source: str, folder: Path) -> Verdict:
    submission = folder / "submission.py"
    submission.write_text(source, encoding="utf-8")
    # A call has a second and a half instead of five: these submissions waste all that they get.
    sealed = Interpreter(launcher=choose("bubblewrap"), limits=SEALED, patience=0.3)
    return grade(LESSON, submission, sealed, fresh=True, jobs=2)


@functools.cache
def verdict_on(base: Base, folder: Path) -> Verdict:
    return graded(base_source(base), folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bases")


def listing() -> set[str]:
    return {str(path) for folder in OUTSIDE for path in folder.iterdir()} - _VOLATILE


_VOLATILE = {str(ROOT / ".pytest_cache"), str(ROOT / ".vllmlings"), str(ROOT / ".coverage")}


def code_of_the_course() -> str:
    digest = hashlib.sha256()
    for folder in ("grader/suites", "grader/worker", "solutions", "reference"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def worker_processes() -> set[int]:
    """All processes that a worker of this test may have left behind."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                status = (entry / "status").read_text()
            except OSError:
                continue
            # Inside, ids are drawn from here up; nobody else has such a one.
            uid = int(status.split("Uid:")[1].split()[0])
            if uid >= 1 << 30 or "bwrap" in status.split("\n", 1)[0]:
                found.add(int(entry.name))
    return found


@pytest.fixture
def nothing_outside_is_touched() -> Iterator[None]:
    with socket.create_server(("127.0.0.1", 0)) as canary:
        canary.settimeout(0)
        before = listing(), code_of_the_course()
        running = worker_processes()
        yield
        assert (listing(), code_of_the_course()) == before
        for _ in range(50):
            left = {pid for pid in worker_processes() - running if os.path.exists(f"/proc/{pid}")}
            if not left:
                break
            time.sleep(0.1)
        assert not left, "processes were left behind"
        with pytest.raises(BlockingIOError):
            canary.accept()


def test_there_are_attacks_enough() -> None:
    assert len(ATTACKS) >= 35


def test_the_wrong_base_fails_and_has_points(folder: Path) -> None:
    verdict = verdict_on("wrong", folder)
    assert verdict.status == "failed"
    assert 0 < verdict.points < verdict.max_points


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
@pytest.mark.usefixtures("nothing_outside_is_touched")
def test_an_attack_gets_what_it_deserves(attack: Attack, folder: Path, tmp_path: Path) -> None:
    base = verdict_on(attack.base, folder)
    begun = time.monotonic()
    verdict = graded(attack.submission, tmp_path)
    assert time.monotonic() - begun < _SLOWEST
    assert verdict.status != "grader_error", verdict.error
    if attack.verdict == "same":
        assert (verdict.status, verdict.points) == (base.status, base.points)
    elif attack.verdict == "less":
        assert verdict.status in ("failed", "cannot_load")
        assert verdict.points <= base.points
    else:
        assert verdict.status in ("failed", "cannot_load")
        assert verdict.points == 0
