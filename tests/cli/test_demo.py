"""`vllmlings demo`: what it shows, what it does not, and where it leads."""

from __future__ import annotations

from pathlib import Path

from running import Run

from grader.commands.demo import RIGHT, WRONG
from grader.progress import Progress, digest


def test_a_wrong_answer_a_right_one_and_the_engine_are_shown(run: Run) -> None:
    ran = run("demo")
    assert ran.code == 0
    for words in ("✗ not passed yet", "✓ passed  20 of 20 points", "The block pool after"):
        assert words in ran.out


def test_the_answer_to_the_exercise_is_not_shown(run: Run) -> None:
    page = run("demo").out
    assert RIGHT.strip() not in page
    assert WRONG.strip() not in page


def test_it_leads_to_the_lesson_that_bare_vllmlings_names(run: Run, home: Path) -> None:
    assert "Next: scheduler/token_budget" in run().out
    page = run("demo").out
    assert "vllmlings watch token_budget" in page
    assert "vllmlings watch block_pool" not in page
    with Progress(home / ".vllmlings").change("scheduler/token_budget") as record:
        record.passed_digest = digest(home / "exercises" / "scheduler" / "token_budget.py")
    following = run().out.split("Next: ")[1].split()[0].split("/")[1]
    assert f"vllmlings watch {following}" in run("demo").out
