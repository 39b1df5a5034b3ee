"""The workflow for a class's repository on GitHub, its steps run here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from grader.lessons import Lesson

LESSON = "kv_cache/block_pool"
BIN = Path(sys.executable).parent


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workflow")
    options = ("--private", "a-teacher/suites", "--lesson", LESSON)
    subprocess.run([BIN / "vllmlings", "classroom", "workflow", folder, *options], check=True)
    return folder


@pytest.fixture(scope="module")
def workflow(made: Path) -> dict[Any, Any]:
    path = made / "class-repository" / ".github" / "workflows" / "grade.yml"
    found: dict[Any, Any] = yaml.safe_load(path.read_text())
    return found


def steps(workflow: dict[Any, Any]) -> dict[str, dict[str, Any]]:
    return {step.get("name", step.get("uses")): step for step in workflow["jobs"]["grade"]["steps"]}


def test_it_is_the_main_branchs_workflow_that_runs_and_it_may_only_read(
    workflow: dict[Any, Any],
) -> None:
    # YAML reads the key `on` as true.
    assert [*workflow[True]] == ["pull_request_target"]
    assert workflow["permissions"] == {"contents": "read"}


def test_no_checkout_leaves_a_key_behind(workflow: dict[Any, Any]) -> None:
    checkouts = [step for step in steps(workflow).values() if "checkout" in step.get("uses", "")]
    assert len(checkouts) == 2
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


def test_nothing_that_a_student_chooses_becomes_a_part_of_a_script(
    workflow: dict[Any, Any],
) -> None:
    assert [step for step in steps(workflow).values() if "${{" in step.get("run", "")] == []


def test_the_class_repository_has_nothing_but_the_workflow(made: Path) -> None:
    found = [path for path in (made / "class-repository").rglob("*") if path.is_file()]
    assert [path.name for path in found] == ["grade.yml"]


@pytest.mark.needs("bubblewrap")
def test_its_grading_step_grades_the_author_of_the_pull_request_alone(
    made: Path, workflow: dict[Any, Any], tmp_path: Path
) -> None:
    for student, source in (("ada", Lesson(LESSON).solution.read_text()), ("ben", "x = 1\n")):
        path = tmp_path / "handed-in" / "submitted" / student / f"{LESSON}.py"
        path.parent.mkdir(parents=True)
        path.write_text(source)
    summary = tmp_path / "summary.md"
    ran = _grade(workflow, tmp_path, "ada", made)
    assert ran.returncode == 0, ran.stdout
    text = summary.read_text()
    assert text.startswith("# ada\n")
    assert "passed · 20 of 20 points" in text
    assert "ben" not in text
    assert [path.name for path in (tmp_path / "course" / "submitted").iterdir()] == ["ada"]


def test_a_pull_request_without_a_folder_of_its_author_is_told_so(
    made: Path, workflow: dict[Any, Any], tmp_path: Path
) -> None:
    ran = _grade(workflow, tmp_path, "cyd", made)
    assert ran.returncode == 1
    assert "There is no folder submitted/cyd" in (tmp_path / "summary.md").read_text()


def _grade(
    workflow: dict[Any, Any], folder: Path, student: str, made: Path
) -> subprocess.CompletedProcess[str]:
    """Run the grading step as GitHub does, on the private copy."""
    surroundings = {
        **os.environ,
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(made / "private-repository"),
        "STUDENT": student,
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
    }
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", steps(workflow)["Grade"]["run"]],
        cwd=folder,
        env=surroundings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=300,
    )
