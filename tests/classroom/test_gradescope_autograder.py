"""Gradescope's autograder, in a folder laid out as Gradescope's."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from grader.lessons import ROOT, Lesson

LESSON = "kv_cache/block_pool"
OTHER = "scheduler/token_budget"
COMMAND = Path(sys.executable).with_name("vllmlings")
SOLUTION = Lesson(LESSON).solution.read_bytes()
Results = dict[str, Any]


@dataclass(frozen=True)
class Autograder:
    """Its folder, which is `/autograder` there."""

    folder: Path

    def run(self) -> subprocess.CompletedProcess[str]:
        command = [self.folder / "run_autograder"]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)

    def grade(self, files: dict[str, bytes]) -> Results:
        """What it makes of these files."""
        submission = self.folder / "submission"
        shutil.rmtree(submission)
        for name, content in files.items():
            (submission / name).parent.mkdir(parents=True, exist_ok=True)
            (submission / name).write_bytes(content)
        ran = self.run()
        assert ran.returncode == 0, ran.stderr
        results: Results = json.loads((self.folder / "results" / "results.json").read_text())
        return results


@pytest.fixture(scope="module")
def autograder(tmp_path_factory: pytest.TempPathFactory) -> Autograder:
    """Unzipped, and set up by its own `setup.sh`, as Gradescope builds an image."""
    folder = tmp_path_factory.mktemp("autograder")
    chosen = ("--lesson", LESSON, "--lesson", OTHER)
    subprocess.run([COMMAND, "classroom", "gradescope", folder, *chosen], check=True)
    for part in ("source", "submission", "results"):
        (folder / part).mkdir()
    with zipfile.ZipFile(folder / "autograder.zip") as archive:
        archive.extractall(folder / "source")
    shutil.copy(folder / "source" / "run_autograder", folder)
    (folder / "run_autograder").chmod(0o755)
    subprocess.run(["bash", folder / "source" / "setup.sh"], check=True, timeout=600)
    return Autograder(folder)


pytestmark = pytest.mark.needs("bubblewrap")


def test_a_file_named_after_its_lesson_gets_its_points_wherever_it_lies(
    autograder: Autograder,
) -> None:
    for name in ("block_pool.py", "my work/kv_cache/block_pool.py"):
        results = autograder.grade({name: SOLUTION})
        assert results["score"] == 20
        assert sum(test["score"] for test in results["tests"]) == 20
        assert f"{OTHER}: not handed in" in results["output"]
        assert "without a sandbox" not in results["output"]


def test_a_notebook_is_graded_by_its_solution(autograder: Autograder) -> None:
    cell = {"cell_type": "code", "source": SOLUTION.decode(), "metadata": {}, "outputs": []}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    assert autograder.grade({"block_pool.ipynb": json.dumps(notebook).encode()})["score"] == 20


def test_what_cannot_be_loaded_gets_no_points_and_the_reason(autograder: Autograder) -> None:
    results = autograder.grade({"block_pool.py": b"def half(:\n"})
    assert results["score"] == 0
    assert "line 1" in results["tests"][0]["output"]


def test_a_submission_cannot_write_its_own_results_or_see_the_suites(
    autograder: Autograder,
) -> None:
    results = autograder.folder / "results" / "results.json"
    attack = (
        "import os\n"
        f"forged = {str(results)!r}\n"
        f"suites = {str(autograder.folder / 'source' / 'course' / 'grader' / 'suites')!r}\n"
        "try:\n    open(forged, 'w').write('{\"score\": 100}')\nexcept OSError:\n    pass\n"
        "assert not os.path.exists(suites), 'the suites are in sight'\n"
    ).encode()
    assert autograder.grade({"block_pool.py": attack + SOLUTION})["score"] == 20


def test_files_of_other_names_are_no_submission(autograder: Autograder) -> None:
    results = autograder.grade({"notes.txt": b"hello", "other.py": SOLUTION})
    assert results["score"] == 0
    assert results["tests"] == []


def test_without_a_sandbox_it_refuses_and_leaves_no_result(autograder: Autograder) -> None:
    (autograder.folder / "results" / "results.json").unlink(missing_ok=True)
    python = autograder.folder / "venv" / "bin" / "python"
    ran = subprocess.run(
        [python, "-m", "grader.classroom.gradescope_run", autograder.folder, LESSON],
        env={**os.environ, "PATH": "/nowhere"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    assert "bwrap is not installed" in ran.stderr
    assert "--sandbox none" in ran.stderr
    assert not (autograder.folder / "results" / "results.json").exists()


def test_made_without_a_sandbox_its_results_say_so(tmp_path: Path) -> None:
    options = ("--lesson", LESSON, "--sandbox", "none", "--detail", "stories")
    subprocess.run([COMMAND, "classroom", "gradescope", tmp_path, *options], check=True)
    with zipfile.ZipFile(tmp_path / "autograder.zip") as archive:
        run = archive.read("run_autograder").decode()
        modes = {each.filename: each.external_attr >> 16 for each in archive.infolist()}
    assert f"--sandbox none --detail stories {LESSON}" in run
    assert modes["run_autograder"] & modes["setup.sh"] & 0o111
    (tmp_path / "submission").mkdir()
    shutil.copy(ROOT / "solutions" / f"{LESSON}.py", tmp_path / "submission")
    arguments = [str(tmp_path), "--sandbox", "none", LESSON]
    subprocess.run(
        [sys.executable, "-m", "grader.classroom.gradescope_run", *arguments], check=True
    )
    results = json.loads((tmp_path / "results" / "results.json").read_text())
    assert results["score"] == 20
    assert "without a sandbox" in results["output"]
