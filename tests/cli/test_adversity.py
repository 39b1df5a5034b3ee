"""Whatever stands where a file belongs, or where output goes: one line, and no verdict is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pseudo_terminal import Terminal, save
from running import Run

import grader.runner
from grader.lessons import ROOT
from grader.progress import LessonProgress, Progress
from grader.verdict import Verdict
from manifest import course

COMMAND = str(Path(sys.executable).with_name("vllmlings"))
LESSON = "kv_cache/block_pool"
SOLUTION = ROOT / "solutions" / f"{LESSON}.py"


def state_is_a_file(home: Path) -> None:
    (home / ".vllmlings").write_text("", encoding="utf-8")


def progress_is_a_folder(home: Path) -> None:
    (home / ".vllmlings" / "progress.json").mkdir(parents=True)


def lock_is_a_folder(home: Path) -> None:
    (home / ".vllmlings" / "progress.lock").mkdir(parents=True)


def state_leads_nowhere(home: Path) -> None:
    (home / ".vllmlings").symlink_to("/proc/no")


@pytest.mark.parametrize(
    "spoil", [state_is_a_file, progress_is_a_folder, lock_is_a_folder, state_leads_nowhere]
)
def test_where_nothing_can_be_kept_everything_is_shown_and_that_is_told(
    run: Run, home: Path, spoil: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = Verdict(LESSON, "passed", 20, 20)
    monkeypatch.setattr(grader.runner, "grade", lambda *_, **__: passed)
    spoil(home)
    assert "Next: " in run().out
    hint = run("hint", "block_pool")
    assert "Hint 1 of 3" in hint.out
    graded = run("grade", "block_pool")
    assert graded.code == 0
    assert "✓ passed  20 of 20 points" in graded.out
    for ran in (hint, graded):
        assert ran.err.count("\n") == 1
        assert "your progress cannot be kept there" in ran.err


def test_a_reset_that_cannot_keep_the_work_leaves_it(
    run: Run, home: Path, solve: Callable[[str], Path]
) -> None:
    work = solve(LESSON).read_bytes()
    state_is_a_file(home)
    ran = run("reset", "block_pool")
    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert (home / "exercises" / f"{LESSON}.py").read_bytes() == work


@pytest.mark.parametrize(
    "content",
    [
        '{"lessons": {"kv_cache/block_pool": {"hints_shown": -5}}}',
        '{"lessons": {"kv_cache/block_pool": {"points": -1}}}',
        '{"version": 99}',
    ],
)
@pytest.mark.parametrize("args", [("solution",), ("diff",), ("hint",), ("read", "--no-pager")])
def test_progress_that_makes_no_sense_is_set_aside_and_that_is_told(
    run: Run, home: Path, content: str, args: tuple[str, ...]
) -> None:
    file = home / ".vllmlings" / "progress.json"
    file.parent.mkdir()
    file.write_text(content, encoding="utf-8")
    command, *rest = args
    ran = run(command, *rest) if command == "read" else run(command, "block_pool")
    assert "set aside" in ran.err.splitlines()[0]
    (aside,) = file.parent.glob("progress.unreadable.*.json")
    assert aside.read_text(encoding="utf-8") == content


def test_one_set_aside_is_never_overwritten_by_the_next(tmp_path: Path) -> None:
    for content in (b"{", b"["):
        (tmp_path / "progress.json").write_bytes(content)
        assert Progress(tmp_path).of(LESSON) == LessonProgress()
    found = {path.read_bytes() for path in tmp_path.glob("progress.unreadable.*.json")}
    assert found == {b"{", b"["}


def test_two_that_meet_a_damaged_file_both_go_on(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from grader.progress import Progress\n"
        "folder = Path(sys.argv[1])\n"
        "for number in range(200):\n"
        "    (folder / 'progress.json').write_bytes(b'{')\n"
        "    progress = Progress(folder)\n"
        "    progress.of('a')\n"
        "    assert progress.problem is None, progress.problem\n"
    )
    processes = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)]) for _ in range(2)]
    assert [process.wait(60) for process in processes] == [0, 0]


@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "nowhere"])
def test_what_stands_in_an_exercises_place_is_told_and_reset_keeps_it(
    run: Run, home: Path, kind: str
) -> None:
    exercise = home / "exercises" / f"{LESSON}.py"
    exercise.unlink()
    match kind:
        case "folder":
            exercise.mkdir()
            (exercise / "mine.py").write_text("x = 1", encoding="utf-8")
        case "pipe":
            os.mkfifo(exercise)
        case "device":
            exercise.symlink_to("/dev/zero")
        case "nowhere":
            exercise.symlink_to("nowhere")
    assert run().code == 0
    ran = run("grade", "block_pool")
    assert ran.code == 1
    assert "cannot be loaded" in ran.out
    assert f"vllmlings reset {LESSON}" in " ".join(ran.out.split())
    assert run("diff", "block_pool", "--reveal").code == 1
    assert run("reset", "block_pool").code == 0
    assert "○ not started" in run("grade", "block_pool").out
    (kept,) = (home / ".vllmlings" / "kept" / "kv_cache").iterdir()
    assert kind != "folder" or (kept / "mine.py").read_text(encoding="utf-8") == "x = 1"


def test_a_file_that_is_not_the_exercise_is_told_nothing_of_reset(run: Run, tmp_path: Path) -> None:
    submission = tmp_path / "block_pool.py"
    submission.write_text("class Other: pass\n", encoding="utf-8")
    ran = run("grade", "block_pool", "--submission", str(submission))
    assert "cannot be loaded" in ran.out
    assert "reset" not in ran.out


@pytest.mark.parametrize(
    ("source", "line", "said"),
    [
        ("x = 1\ny = '\0'\n", 2, "null byte"),
        (f"x = {'-' * 200_000}1\n", None, "nested too deep"),
    ],
)
def test_a_source_that_python_cannot_read_is_told_with_its_line_or_another_advice(
    run: Run, home: Path, source: str, line: int | None, said: str
) -> None:
    (home / "exercises" / f"{LESSON}.py").write_text(source, encoding="utf-8")
    page = run("grade", "block_pool").out
    assert said in page
    assert ("correct this line" in page) == (line is not None)
    assert line is None or f"block_pool.py:{line}" in page.replace("\n", "")


@pytest.mark.parametrize(
    ("redirection", "code"),
    [("", 0), (">/dev/full", 1), (">&-", 0), ("2>&-", 0), ("<&-", 0), (">&- 2>&- <&-", 0)],
)
def test_whatever_becomes_of_the_output_there_is_no_traceback(
    home: Path, solve: Callable[[str], Path], redirection: str, code: int
) -> None:
    solve(LESSON)
    ran = in_a_shell(home, f"{COMMAND} grade block_pool --fresh {redirection}")
    assert ran.returncode == code, ran.stdout + ran.stderr
    assert ran.stderr.count("\n") == (1 if code else 0)


def test_a_reader_that_has_gone_is_no_failed_check(
    home: Path, solve: Callable[[str], Path]
) -> None:
    solve(LESSON)
    ran = in_a_shell(home, f"{COMMAND} grade block_pool | head -n 1; exit ${{PIPESTATUS[0]}}")
    assert ran.returncode == 141
    assert ran.stderr == ""


def test_paths_that_are_no_text_are_as_good_as_any(home: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(home) + b"/h\xff"))
    exercise = odd / "exercises" / f"{LESSON}.py"
    exercise.parent.mkdir(parents=True)
    exercise.write_bytes(SOLUTION.read_bytes())
    for words in (f"grade block_pool --submission '{exercise}'", "grade block_pool", ""):
        ran = in_a_shell(odd, f"{COMMAND} {words}")
        assert ran.returncode == 0, ran.stdout + ran.stderr
    exercise.write_bytes(b"def f(:\n")
    ran = in_a_shell(odd, f"{COMMAND} grade block_pool")
    assert (ran.returncode, ran.stderr) == (1, "")
    assert "h�/exercises" in ran.stdout.replace("\n", "")


def test_a_file_of_the_course_that_is_missing_is_named_with_what_puts_it_back(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: object) -> None:
        open(ROOT / "solutions" / "kv_cache" / "lost.py").close()

    monkeypatch.setattr("grader.grading.grade_lesson", lost)
    monkeypatch.setattr("grader.commands.grade.grade_lesson", lost)
    ran = run("grade", "block_pool")
    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert "`git checkout -- solutions/kv_cache/lost.py` puts it back" in ran.err


def test_a_course_file_that_is_no_yaml_is_told_in_one_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "course.yaml"
    broken.write_text("topics: [", encoding="utf-8")
    load = course.load
    monkeypatch.setattr("grader.learner.load", lambda: load(broken))
    ran = run("list")
    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert "course.yaml: not YAML" in ran.err


def test_ctrl_c_at_any_moment_of_the_start_is_silent() -> None:
    # Where `grader.cli` is imported, nothing that takes time has been yet.
    code = "import sys, grader.cli; print('click' in sys.modules or 'yaml' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
    interrupted = (
        "import importlib, signal, sys, grader.cli\n"
        "class Interrupts:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'click': signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupts())\n"
        "grader.cli.main(['list'])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", interrupted], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "\n")


def test_watching_begins_before_the_exercise_and_its_folder_are_there(home: Path) -> None:
    folder = home / "exercises" / "kv_cache"
    folder.rename(home / "elsewhere")
    with watching(home) as terminal:
        terminal.wait_for("there is no such file")
        folder.mkdir()
        (folder / "block_pool.py").write_bytes(SOLUTION.read_bytes())
        terminal.wait_for("✓ passed  20 of 20 points")
        (folder / "block_pool.py").unlink()
        (folder / "block_pool.py").symlink_to("nowhere")
        terminal.wait_for("there is no such file")
        terminal.press("q")
        assert terminal.wait_for_end() == 0
        assert "Traceback" not in terminal.text


def test_a_link_is_watched_where_it_leads(home: Path) -> None:
    target = home / "mine.py"
    target.write_text("def f(:\n", encoding="utf-8")
    exercise = home / "exercises" / f"{LESSON}.py"
    exercise.unlink()
    exercise.symlink_to(target)
    with watching(home) as terminal:
        terminal.wait_for("✗ cannot be loaded")
        save(target, SOLUTION.read_text(encoding="utf-8"))
        terminal.wait_for("✓ passed  20 of 20 points")


@pytest.mark.parametrize("key", ["q", "\x03"])
def test_whoever_leaves_during_a_check_is_not_kept_waiting(home: Path, key: str) -> None:
    mark = home / "loading"
    exercise = home / "exercises" / f"{LESSON}.py"
    exercise.write_text(f"open({str(mark)!r}, 'w')\nwhile True: pass\n", encoding="utf-8")
    with watching(home) as terminal:
        while not mark.exists():
            time.sleep(0.01)
        begun = time.monotonic()
        terminal.press(key)
        assert terminal.wait_for_end() == 0
        assert time.monotonic() - begun < 1


def test_a_stopped_grader_does_not_keep_ctrl_c_from_ending_it(home: Path) -> None:
    mark = home / "loading"
    exercise = home / "exercises" / f"{LESSON}.py"
    exercise.write_text(
        f"import os, signal\nopen({str(mark)!r}, 'w')\n"
        "def parent(pid):\n"
        "    return int(open(f'/proc/{pid}/stat').read().rpartition(')')[2].split()[1])\n"
        "while True: os.kill(parent(os.getppid()), signal.SIGSTOP)\n",
        encoding="utf-8",
    )
    command = [COMMAND, "grade", "block_pool"]
    with subprocess.Popen(
        command, env=os.environ | {"VLLMLINGS_HOME": str(home)}, stdout=subprocess.DEVNULL
    ) as process:
        while not mark.exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.wait(5) == 130


def watching(home: Path) -> Terminal:
    return Terminal([COMMAND, "watch", "block_pool"], {"VLLMLINGS_HOME": str(home)})


def in_a_shell(home: Path, line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", line],
        env=os.environ | {"VLLMLINGS_HOME": str(home), "COLUMNS": "80"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
