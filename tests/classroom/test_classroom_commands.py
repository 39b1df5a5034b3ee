"""`vllmlings classroom grade` and `report`, as a teacher types them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from class_kit import NO_PYTHON
from nbgrader.api import Gradebook

from grader.lessons import ROOT

SOLUTION = (ROOT / "solutions" / "kv_cache" / "block_hashing.py").read_text()
LESSON = "kv_cache/block_hashing"


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "grader", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=os.environ | environment,
        timeout=240,
    )


def hand_in(folder: Path, student: str, source: str) -> None:
    path = folder / "submitted" / student / f"{LESSON}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    hand_in(tmp_path, "ada", SOLUTION)
    hand_in(tmp_path, "Doe, Jr.", NO_PYTHON)
    (tmp_path / "classroom.yaml").write_text(f"lessons: [{LESSON}]\n")
    return tmp_path


@pytest.mark.needs("bubblewrap")
def test_a_class_from_its_files_to_the_gradebook_and_the_reports(folder: Path) -> None:
    done = run("classroom", "grade", str(folder))
    assert done.returncode == 0, done.stderr
    assert "2 submissions graded" in done.stdout
    assert "Doe, Jr./kv_cache/block_hashing.py  line 1" in done.stdout
    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}") as gradebook:
        assert {each.id: each.score for each in gradebook.students} == {"ada": 20, "Doe, Jr.": 0}

    again = run("classroom", "grade", str(folder))
    assert "0 submissions graded · 2 had a verdict already" in again.stdout

    table = run("classroom", "report", str(folder))
    assert "without a sandbox" not in table.stdout
    assert ["ada", "20", "20"] in [line.split() for line in table.stdout.splitlines()]
    feedback = run("classroom", "report", str(folder), "--format", "html")
    assert "2 files are in" in feedback.stdout
    assert sorted(each.name for each in (folder / "reports").iterdir()) == [
        "Doe, Jr..html",
        "ada.html",
    ]
    results = run(
        *("classroom", "report", str(folder), "--format", "gradescope", "--student", "ada"),
    )
    assert json.loads(results.stdout)["score"] == 20
    assert (
        "No two submissions are alike"
        in run("classroom", "report", str(folder), "--similar").stdout
    )


def test_without_a_sandbox_it_does_not_grade(folder: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bin"
    bare.mkdir()
    done = run("classroom", "grade", str(folder), PATH=str(bare))
    assert done.returncode == 1
    assert "bwrap is not installed; to mend it: apt-get install bubblewrap" in done.stderr
    assert "--sandbox none" in done.stderr
    assert not (folder / ".vllmlings").exists()


def test_it_grades_without_one_where_that_is_asked_for_and_says_so(folder: Path) -> None:
    done = run("classroom", "grade", str(folder), "--sandbox", "none", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    assert "Graded without a sandbox" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--lesson", "block_pool"], "this course does not have kv_cache/block_pool"),
        (["--executor", "slurm"], "give it as dask=tcp://HOST:PORT"),
        (["--lesson", "block_hashin"], "did you mean"),
    ],
)
def test_a_wrong_use_is_said_in_one_line(folder: Path, arguments: list[str], said: str) -> None:
    done = run("classroom", "grade", str(folder), *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_extra_that_is_not_installed_is_named(folder: Path) -> None:
    program = (
        "import sys; sys.modules['nbgrader'] = None; from grader.cli import main;"
        f"main(['classroom', 'grade', {str(folder)!r}, '--sandbox', 'none'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 1
    assert "pip install -c constraints.txt -e '.[classroom]'" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [["list"], ["grade", "block_hashing", "--submission", f"solutions/{LESSON}.py"], ["--help"]],
)
def test_a_learner_s_commands_import_nothing_of_the_classroom(arguments: list[str]) -> None:
    program = (
        "import sys\nfrom grader.cli import main\n"
        f"try:\n    main({arguments!r})\nexcept SystemExit:\n    pass\n"
        "heavy = ('nbgrader', 'distributed', 'sqlalchemy', 'copydetect', 'grader.classroom',"
        " 'grader.sandbox', 'grader.report.classroom')\n"
        "print([name for name in heavy if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.stderr.splitlines()[-1] == "[]"
