"""The commands that find, show and reset; and what a wrong use is told."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from running import Run

from grader.command_group import COMMANDS
from grader.lessons import Lesson as Files
from grader.progress import Progress, digest
from grader.stub import stub_of
from manifest.course import load

BLOCK_POOL = "kv_cache/block_pool"
COMMAND = Path(sys.executable).with_name("vllmlings")


def mark_passed(home: Path, lesson: str) -> None:
    with Progress(home / ".vllmlings").change(lesson) as record:
        record.points = record.max_points = 20
        record.passed_digest = digest(home / "exercises" / f"{lesson}.py")


def test_the_version_names_the_pinned_release(run: Run) -> None:
    assert run("--version").out.endswith("pinned to vLLM 0.30.0\n")


def test_it_starts_fast() -> None:
    def seconds() -> float:
        # The processor's seconds, which other processes on the machine do not add to.
        process = os.posix_spawn(COMMAND, [str(COMMAND), "--version"], dict(os.environ))
        _, status, usage = os.wait4(process, 0)
        assert status == 0
        return usage.ru_utime + usage.ru_stime

    assert min(seconds() for _ in range(5)) < 0.15


def test_starting_imports_nothing_heavy() -> None:
    code = (
        "import sys, grader.command_group; "
        "print(*{'rich', 'pytest', 'hypothesis', 'yaml', 'msgspec'} & {*sys.modules})"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == ""


def test_every_command_is_listed_in_the_help(run: Run) -> None:
    page = run("--help").out
    assert [name for name in COMMANDS if f"  {name} " not in page] == []


def test_bare_it_says_what_is_next_and_what_to_type(run: Run) -> None:
    ran = run()
    assert ran.code == 0
    assert "Next: scheduler/token_budget" in ran.out
    assert "vllmlings watch token_budget" in ran.out
    assert "vllmlings demo" in ran.out


def test_after_a_pass_the_next_lesson_is_next(run: Run, home: Path) -> None:
    first, second, *_ = load().written
    assert f"Next: {first.path}" in run().out
    mark_passed(home, first.path)
    page = run().out
    assert f"1 of {len(load().written)} lessons passed" in page
    assert "✓ passed 20/20" in page
    assert f"Next: {second.path}" in page


def test_editing_a_finished_exercise_makes_it_pending(
    run: Run, home: Path, solve: Callable[[str], Path]
) -> None:
    exercise = solve(BLOCK_POOL)
    mark_passed(home, BLOCK_POOL)
    assert "✓ passed" in run("list", "kv_cache").out
    exercise.write_text(exercise.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert "◐ edited since it passed" in run("list", "kv_cache").out


def test_the_list_has_every_written_lesson_and_counts_those_to_come(run: Run) -> None:
    page = run("list").out
    assert [lesson.name for lesson in load().written if lesson.name not in page] == []
    assert "rust_core_ffi" not in page
    lines = page.splitlines()
    for topic in load().topics:
        if not topic.written:
            line = next(line for line in lines if topic.name in line)
            assert line.endswith(f"· {len(topic.lessons)} lessons to come")
    assert "vllmlings list --all" in page


def test_the_whole_list_has_every_lesson(run: Run) -> None:
    page = run("list", "--all").out
    assert [lesson.name for lesson in load() if lesson.name not in page] == []


def test_no_line_is_wider_than_80_columns(run: Run) -> None:
    for args in ((), ("list",), ("list", "--all"), ("read", "block_pool", "--answers")):
        assert max(map(len, run(*args).out.splitlines())) <= 80, args


def test_output_without_a_terminal_is_plain(run: Run) -> None:
    for args in ((), ("list",), ("read", "block_pool"), ("hint", "block_pool")):
        assert "\x1b" not in run(*args).out, args


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["reed"], "reed: no such command; did you mean read?"),
        (["read", "block_pol"], "did you mean kv_cache/block_pool?"),
        (["read", "kv_cache"], "kv_cache: a topic; name a lesson, such as kv_cache/block_pool"),
        (["read", "sampler"], "model_execution/sampler: this lesson is still to come"),
        (["grade", "features"], "features: the lessons of this topic are still to come"),
        (["grade", "--all", "block_pool"], "give one of them"),
        (["grade", "kv_cache", "--submission", __file__], "name one lesson"),
        (["grade", "block_pool", "--submission", "no.py"], "'no.py' does not exist"),
        (["list", "kvcache"], "kvcache: no such topic; there are what_vllm_is"),
        (["engine", "frst_steps"], "frst_steps: no such workload; did you mean first_steps?"),
        (["list", "--wrong"], "--wrong"),
    ],
)
def test_a_wrong_use_is_told_in_one_line(run: Run, args: list[str], message: str) -> None:
    ran = run(*args)
    assert ran.code == 2
    assert message in ran.err
    assert ran.err.count("\n") == 1
    assert ran.err.startswith("vllmlings: ")


def test_each_hint_goes_one_step_further_and_the_last_one_stays(run: Run) -> None:
    titles = [run("hint", "block_pool").out.splitlines()[0] for _ in range(4)]
    assert [title[:11] for title in titles] == [f"Hint {n} of 3" for n in (1, 2, 3, 3)]


def test_the_hints_shown_so_far_can_be_read_again(run: Run) -> None:
    assert "No hint was shown yet" in run("hint", "block_pool", "--all").out
    first = run("hint", "block_pool").out.splitlines()[0]
    second = run("hint", "block_pool").out
    assert "vllmlings hint block_pool --all" in second
    for _ in range(2):  # reading them again shows no new one
        page = run("hint", "block_pool", "--all").out
        assert first in page
        assert second.splitlines()[0] in page
        assert "Hint 3 of 3" not in page


def test_hints_can_begin_again(run: Run) -> None:
    run("hint", "block_pool")
    run("hint", "block_pool", "--reset")
    assert run("hint", "block_pool").out.startswith("Hint 1 of 3")


def test_reset_keeps_a_copy_of_the_work(run: Run, home: Path) -> None:
    exercise = home / "exercises" / f"{BLOCK_POOL}.py"
    exercise.write_bytes(b"my work \xff")
    assert run("reset", "block_pool").code == 0
    assert exercise.read_text(encoding="utf-8") == stub_of(Files(BLOCK_POOL))
    kept = list((home / ".vllmlings" / "kept" / "kv_cache").glob("block_pool.*.py"))
    assert [file.read_bytes() for file in kept] == [b"my work \xff"]


def test_two_resets_within_a_second_keep_two_copies(run: Run, home: Path) -> None:
    exercise = home / "exercises" / f"{BLOCK_POOL}.py"
    for work in ("one", "two"):
        exercise.write_text(work, encoding="utf-8")
        run("reset", "block_pool")
    kept = (home / ".vllmlings" / "kept" / "kv_cache").glob("*.py")
    assert sorted(file.read_text(encoding="utf-8") for file in kept) == ["one", "two"]


def test_resetting_a_stub_changes_nothing(run: Run, home: Path) -> None:
    assert "nothing to reset" in run("reset", "block_pool").out
    assert not (home / ".vllmlings" / "kept").exists()


def test_the_solution_is_shown_after_a_pass_only(run: Run, home: Path) -> None:
    refused = run("solution", "block_pool")
    assert refused.code == 1
    assert "vllmlings solution block_pool --reveal" in refused.err
    mark_passed(home, BLOCK_POOL)
    shown = run("solution", "block_pool")
    assert shown.code == 0
    assert "BEGIN SOLUTION" not in shown.out
    compile(shown.out, "solution", "exec")


def test_the_solution_is_shown_when_asked_for(run: Run) -> None:
    assert run("solution", "block_pool", "--reveal").code == 0


def test_the_diff_marks_lines_with_signs(run: Run) -> None:
    lines = run("diff", "block_pool", "--reveal").out.splitlines()
    assert any(line.startswith("-") and "NotImplementedError" in line for line in lines)
    assert any(line.startswith("+") for line in lines)


def test_a_long_line_of_the_diff_goes_on_under_its_sign(run: Run, home: Path) -> None:
    exercise = home / "exercises" / f"{BLOCK_POOL}.py"
    text = exercise.read_text(encoding="utf-8")
    exercise.write_text(f"{text}# {'x' * 170} end\n", encoding="utf-8")
    lines = run("diff", "block_pool", "--reveal").out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("-# xxx"))
    assert lines[at + 1].startswith("- ↪ xxx")
    assert lines[at + 2].startswith("- ↪ ")
    assert lines[at + 2].endswith(" end")
    assert max(map(len, lines)) <= 80


def test_the_diff_in_two_columns_fits_80(run: Run) -> None:
    lines = run("diff", "block_pool", "--reveal", "--side-by-side").out.splitlines()
    assert max(map(len, lines)) <= 80
    assert any(" | " in line or " < " in line for line in lines)


def test_an_unreadable_progress_file_is_told_and_no_more(run: Run, home: Path) -> None:
    (home / ".vllmlings").mkdir()
    (home / ".vllmlings" / "progress.json").write_text("{", encoding="utf-8")
    ran = run()
    assert ran.code == 0
    assert "set aside" in ran.err
    assert run().err == ""


def test_a_reader_that_goes_away_is_no_error() -> None:
    with subprocess.Popen(
        [COMMAND, "list", "--all"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


def test_an_output_that_knows_only_ascii_is_no_error() -> None:
    ran = subprocess.run(
        [COMMAND, "list"], capture_output=True, env={"PYTHONIOENCODING": "ascii"}, check=True
    )
    assert b"block_pool" in ran.stdout
