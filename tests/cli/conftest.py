"""A learner's home of its own for each test, and the command run in this process."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from running import Ran, Run

from grader.cli import main
from grader.files import write_atomically
from grader.lessons import ROOT, Lesson
from grader.places import places
from grader.stub import stub_of
from manifest.course import load


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """All stubs and no progress; the command takes it for the learner's own."""
    for lesson in load().written:
        exercise = tmp_path / "exercises" / f"{lesson.path}.py"
        write_atomically(exercise, stub_of(Lesson(lesson.path)))
    monkeypatch.setenv("VLLMLINGS_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")
    places.cache_clear()
    yield tmp_path
    places.cache_clear()


@pytest.fixture
def run(home: Path, capsys: pytest.CaptureFixture[str]) -> Run:  # noqa: ARG001 (sets the home)
    """`run("grade", "block_pool")`: exit code, stdout and stderr of the command."""

    def ran(*args: str) -> Ran:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(list(args))
        captured = capsys.readouterr()
        return Ran(int(ended.value.code or 0), captured.out, captured.err)

    return ran


@pytest.fixture
def solve(home: Path) -> Callable[[str], Path]:
    """Puts the solution of a lesson into the learner's exercise."""

    def solved(lesson: str) -> Path:
        exercise = home / "exercises" / f"{lesson}.py"
        shutil.copy(ROOT / "solutions" / f"{lesson}.py", exercise)
        return exercise

    return solved
