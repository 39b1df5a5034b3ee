"""`vllmlings grade`: what is graded, what is printed, the exit code, what is remembered."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pseudo_terminal import Terminal
from running import Run

import grader.runner
from grader.lessons import ROOT, Lesson
from grader.progress import Progress
from grader.source import Source
from grader.verdict import CheckResult, Status, Verdict, decode

COMMAND = Path(sys.executable).with_name("vllmlings")
LESSON = "kv_cache/block_pool"
SOLUTION = ROOT / "solutions" / "kv_cache" / "block_pool.py"

Graded = list[tuple[str, Path, bool]]


@pytest.fixture
def graded(monkeypatch: pytest.MonkeyPatch) -> Graded:
    """What the runner was asked to grade; it passes everything in the topic `kv_cache`."""
    asked: Graded = []

    def grade(lesson: Lesson, submission: Source, fresh: bool = False, **_: object) -> Verdict:
        asked.append((lesson.name, submission.path, fresh))
        passes = lesson.name.startswith("kv_cache/")
        check = CheckResult(
            "test_a", "A.", 20, 20 if passes else 0, "passed" if passes else "failed", "R"
        )
        status: Status = "passed" if passes else "failed"
        return Verdict(lesson.name, status, check.earned, 20, checks=[check], seconds=0.1)

    monkeypatch.setattr(grader.runner, "grade", grade)
    return asked


def test_it_says_at_once_what_it_checks_and_ends_with_the_verdict(
    run: Run, home: Path, graded: Graded
) -> None:
    ran = run("grade", "block_pool")
    assert ran.code == 0
    assert ran.out.splitlines()[0] == f"Checking {LESSON} …"
    assert "✓ passed  20 of 20 points" in ran.out
    assert graded == [(LESSON, home / "exercises" / f"{LESSON}.py", False)]


def test_not_passed_is_exit_code_1(run: Run, graded: Graded) -> None:
    assert run("grade", "token_budget").code == 1
    assert len(graded) == 1


def test_without_a_name_the_next_lesson_is_graded(run: Run, graded: Graded) -> None:
    run("grade")
    assert [lesson for lesson, _, _ in graded] == ["scheduler/token_budget"]


def test_a_topic_is_summed_up(run: Run, graded: Graded) -> None:
    ran = run("grade", "kv_cache")
    assert ran.code == 0
    assert f"✓ {LESSON} " in ran.out
    number = len(graded)
    assert f"{number} of {number} lessons passed" in ran.out


def test_all_is_passed_only_if_each_one_is(run: Run, graded: Graded) -> None:
    ran = run("grade", "--all")
    assert ran.code == 1
    assert "✗ scheduler/token_budget" in ran.out
    assert "vllmlings grade scheduler/token_budget" in ran.out
    assert len(graded) > 3


def test_a_pass_is_remembered(run: Run, home: Path, graded: Graded) -> None:
    run("grade", "block_pool")
    assert len(graded) == 1
    record = Progress(home / ".vllmlings").of(LESSON)
    assert (record.points, record.max_points, record.ever_passed) == (20, 20, True)


def test_another_submission_leaves_no_mark(
    run: Run, home: Path, tmp_path: Path, graded: Graded
) -> None:
    submission = tmp_path / "other.py"
    submission.write_text("", encoding="utf-8")
    run("grade", "block_pool", "--submission", str(submission))
    assert graded == [(LESSON, submission, False)]
    assert not (home / ".vllmlings" / "progress.json").exists()


def test_fresh_is_handed_on(run: Run, graded: Graded) -> None:
    run("grade", "block_pool", "--fresh")
    assert graded[0][2] is True


def test_json_is_the_verdict_alone(run: Run, graded: Graded) -> None:
    ran = run("grade", "block_pool", "--json")
    assert len(graded) == 1
    assert decode(ran.out.encode()).status == "passed"


def test_json_of_several_is_a_list(run: Run, graded: Graded) -> None:
    verdicts = json.loads(run("grade", "kv_cache", "--json").out)
    assert [verdict["lesson"] for verdict in verdicts] == [lesson for lesson, _, _ in graded]


def test_an_untouched_stub_is_told_without_loading_a_test_tool(home: Path) -> None:
    code = (
        "import sys\nfrom grader.cli import main\n"
        "try:\n    main(['grade', 'block_pool'])\nfinally:\n"
        "    print(*{'pytest', 'hypothesis'} & {*sys.modules}, file=sys.stderr)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"VLLMLINGS_HOME": str(home)},
        check=False,
    )
    assert ran.returncode == 1
    assert "○ not started" in ran.stdout
    assert ran.stderr.strip() == ""


def test_the_solution_passes_for_real(run: Run, solve: Callable[[str], Path]) -> None:
    solve(LESSON)
    ran = run("grade", "block_pool")
    assert ran.code == 0, ran.out
    assert "20 of 20 points" in ran.out


def test_a_mistake_is_told_as_a_story_for_real(run: Run, tmp_path: Path) -> None:
    submission = tmp_path / "block_pool.py"
    source = SOLUTION.read_text(encoding="utf-8")
    submission.write_text(
        source.replace("prepend_n(evict_first)", "append_n(evict_first)"), encoding="utf-8"
    )
    ran = run("grade", "block_pool", "--submission", str(submission))
    assert ran.code == 1
    assert "the engine:" in ran.out
    assert "The rule: exercises/kv_cache/block_pool.md > " in ran.out


def test_a_long_grading_shows_a_bar_and_leaves_none(home: Path) -> None:
    exercise = home / "exercises" / f"{LESSON}.py"
    source = SOLUTION.read_text(encoding="utf-8")
    exercise.write_text(f"import time\ntime.sleep(0.3)\n{source}", encoding="utf-8")
    with Terminal([str(COMMAND), "grade", "block_pool"], {"VLLMLINGS_HOME": str(home)}) as terminal:
        terminal.wait_for("Checking block_pool  ")
        terminal.wait_for_end(30)
        assert "points" in terminal.text
        assert "Checking block_pool  " not in terminal.text


def test_the_demo_shows_a_failing_story_a_pass_and_the_engine(home: Path) -> None:
    ran = subprocess.run(
        [COMMAND, "demo"],
        capture_output=True,
        text=True,
        env={"VLLMLINGS_HOME": str(home)},
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "✗ not passed yet" in ran.stdout
    assert "the engine:" in ran.stdout
    assert "✓ passed" in ran.stdout
    assert "free blocks" in ran.stdout
    assert max(map(len, ran.stdout.splitlines())) <= 80
    assert not (home / ".vllmlings" / "progress.json").exists()
