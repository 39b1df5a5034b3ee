"""`vllmlings classroom release`: what students get."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from leaks import leaked, secret_lines

from grader.lessons import ROOT, Lesson
from grader.stub import stub_of
from manifest.course import load

COMMAND = Path(sys.executable).with_name("vllmlings")
WRITTEN = [lesson.path for lesson in load().written]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release")
    subprocess.run([COMMAND, "classroom", "release", folder], check=True)
    return folder / "vllmlings-student"


def files(bundle: Path) -> dict[str, str]:
    return {
        path.relative_to(bundle).as_posix(): path.read_text(encoding="utf-8")
        for path in bundle.rglob("*")
        if path.is_file()
    }


def test_it_holds_the_texts_and_stubs_and_little_else(bundle: Path) -> None:
    own = {"README.md", "LICENSE", "pyproject.toml", "vllmlings_student.py"}
    lessons = {f"exercises/{name}{suffix}" for name in WRITTEN for suffix in (".md", ".py")}
    assert {*files(bundle)} == own | lessons


def test_its_exercises_are_the_stubs(bundle: Path) -> None:
    for name in WRITTEN:
        assert (bundle / f"exercises/{name}.py").read_text() == stub_of(Lesson(name))


def test_it_has_no_line_of_a_suite_a_solution_the_model_or_a_mutant(bundle: Path) -> None:
    assert len(secret_lines()) > 5000
    assert {name: leaked(text) for name, text in files(bundle).items() if leaked(text)} == {}


def test_the_search_finds_a_leak() -> None:
    suite = Lesson(WRITTEN[0]).suite.read_text(encoding="utf-8")
    solution = Lesson(WRITTEN[0]).solution.read_text(encoding="utf-8")
    assert len(leaked(suite)) > 50
    assert len(leaked(solution)) > 5


def test_its_texts_have_no_link_or_note_that_only_the_course_understands(bundle: Path) -> None:
    for name, text in files(bundle).items():
        if name.endswith(".md"):
            assert "](vllm:" not in text, name
            assert "](fact:" not in text, name
            assert "<!--" not in text, name


def test_the_zip_holds_the_same_files(bundle: Path) -> None:
    with zipfile.ZipFile(f"{bundle}.zip") as archive:
        unpacked = {name: archive.read(name).decode() for name in archive.namelist()}
    assert unpacked == {f"vllmlings-student/{name}": text for name, text in files(bundle).items()}


def test_installed_it_runs_the_public_examples(bundle: Path, tmp_path: Path) -> None:
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    with zipfile.ZipFile(f"{bundle}.zip") as archive:
        archive.extractall(tmp_path)
    unpacked = tmp_path / "vllmlings-student"
    subprocess.run([python, "-m", "pip", "install", "-q", unpacked], check=True, timeout=300)
    solution = (ROOT / "solutions/kv_cache/block_pool.py").read_text()
    (unpacked / "exercises/kv_cache/block_pool.py").write_text(solution)
    command = python.with_name("vllmlings")

    def examples(*names: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [command, "examples", *names],
            cwd=unpacked / "exercises",
            capture_output=True,
            text=True,
            check=False,
        )

    right = examples("block_pool")
    assert (right.returncode, right.stdout) == (0, "✓ kv_cache/block_pool: all 61 examples pass\n")
    untouched = examples("request_queues")
    assert untouched.returncode == 1
    assert untouched.stdout.startswith("✗ scheduler/request_queues\n")
    assert "NotImplementedError" in untouched.stdout
    assert examples("no_lesson").returncode == 2
    listed = subprocess.check_output([command, "list"], cwd=unpacked, text=True)
    assert len(listed.splitlines()) == len(WRITTEN)


def test_what_is_there_and_differs_is_not_overwritten(bundle: Path) -> None:
    edited = bundle / "README.md"
    before = edited.read_bytes()
    edited.write_text("my own words")
    again = [COMMAND, "classroom", "release", bundle.parent]
    try:
        refused = subprocess.run(again, capture_output=True, text=True, check=False)
        assert refused.returncode == 1
        assert "vllmlings-student/README.md: there already, and different" in refused.stderr
        assert edited.read_text() == "my own words"
        subprocess.run([*again, "--overwrite"], check=True)
        assert edited.read_bytes() == before
    finally:
        edited.write_bytes(before)
