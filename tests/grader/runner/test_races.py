"""What a submission, or a save, does to a grading that is under way."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.grading import remember
from grader.lessons import Lesson
from grader.places import places
from grader.progress import Progress
from grader.runner import WarmGrader, grade, warm
from grader.source import Source, read_source
from grader.verdict import GraderError, LoadError

PUSH = "        self.ids.extend(ids)"
WRONG = ("extend(ids)", "extend(ids[:3])")
STOP = """        import os, signal
        def parent(pid):
            return int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])
        os.kill(ANCESTOR, signal.SIGSTOP)
"""
LEAVE = """        import os, signal, subprocess
        subprocess.Popen(["sleep", "SECONDS"], start_new_session=True)
        os.kill(os.getppid(), signal.SIGKILL)
"""
linux = pytest.mark.skipif(sys.platform != "linux", reason="finds its ancestors in /proc")


@pytest.fixture(scope="module")
def lesson(toy: Any, tmp_path_factory: pytest.TempPathFactory) -> Lesson:
    written: Lesson = toy.write(tmp_path_factory.mktemp("course"))
    return written


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    monkeypatch.setenv("VLLMLINGS_HOME", str(tmp_path))
    places.cache_clear()
    yield tmp_path
    places.cache_clear()


def test_a_save_during_a_grading_changes_nothing_of_it(
    toy: Any, lesson: Lesson, tmp_path: Path
) -> None:
    submission = toy.submit(tmp_path, WRONG)
    wrong = read_source(submission)

    def save_the_right_one(_done: int, _total: int) -> None:
        toy.submit(tmp_path)

    verdict = grade(lesson, wrong, tell=save_the_right_one, jobs=1)
    assert read_source(submission) != wrong
    assert verdict.status == "failed"
    assert grade(lesson, wrong) == verdict
    assert grade(lesson, submission).status == "passed"
    progress = Progress(tmp_path)
    remember(progress, verdict, wrong)
    assert progress.of(lesson.name).graded_digest == wrong.digest


@linux
@pytest.mark.parametrize(
    "ancestor", ["os.getppid()", "parent(os.getppid())"], ids=["worker", "grader"]
)
def test_a_submission_that_stops_the_graders_processes_delays_it_alone(
    toy: Any, lesson: Lesson, tmp_path: Path, ancestor: str
) -> None:
    stops = STOP.replace("ANCESTOR", ancestor)
    submission = toy.submit(tmp_path, (PUSH, f"{stops}{PUSH}"))
    begun = time.monotonic()
    with WarmGrader(lesson, jobs=2) as grader:
        verdict = grader.grade(submission)
    assert time.monotonic() - begun < 60
    assert verdict.status in ("passed", "failed")


@linux
def test_what_outlives_its_killed_worker_is_ended_with_the_grading(
    toy: Any, lesson: Lesson, tmp_path: Path
) -> None:
    seconds = f"7{os.getpid()}"
    leaves = LEAVE.replace("SECONDS", seconds)
    verdict = grade(lesson, toy.submit(tmp_path, (PUSH, f"{leaves}{PUSH}")))
    assert verdict.status == "failed"
    assert list(running(f"sleep\0{seconds}\0")) == []


@linux
def test_who_kills_the_command_leaves_no_process(toy: Any, lesson: Lesson, tmp_path: Path) -> None:
    mark = tmp_path / "loading"
    submission = toy.submit(tmp_path)
    submission.write_text(f"open({str(mark)!r}, 'w').close()\nwhile True: pass\n")
    command = (
        "import sys; from pathlib import Path; from grader.lessons import Lesson\n"
        "from grader.runner import grade\n"
        "grade(Lesson('toy/stack', Path(sys.argv[1])), Path(sys.argv[2]))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", command, str(lesson.root), str(submission)])
    until(mark.exists)
    process.send_signal(signal.SIGKILL)
    process.wait()
    until(lambda: not list(running(str(submission))))


def test_a_grader_that_says_nothing_is_not_waited_for_in_vain(
    toy: Any, lesson: Lesson, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm, "LONGEST_SILENCE", 0.2)
    with WarmGrader(lesson, jobs=1) as grader:
        slow = toy.submit(tmp_path, ("class Stack", "import time; time.sleep(1)\nclass Stack"))
        verdict = grader.grade(slow)
    assert isinstance(verdict.error, GraderError)
    assert "said nothing" in verdict.error.cause


def test_whoever_waits_for_a_verdict_may_leave_at_once(
    toy: Any, lesson: Lesson, tmp_path: Path
) -> None:
    class Leave(Exception):
        pass

    def leave() -> None:
        raise Leave

    submission = toy.submit(tmp_path)
    loop = Source(submission, b"while True: pass\n")
    with WarmGrader(lesson, jobs=1) as grader:
        grader.grade(submission)
        begun = time.monotonic()
        with pytest.raises(Leave):
            grader.grade(loop, look=leave)
        assert time.monotonic() - begun < 1
        assert grader.grade(submission).status == "passed"


@pytest.mark.parametrize("kind", ["absent", "folder", "pipe", "device", "link", "large"])
def test_what_is_no_file_is_told_without_reading_it(
    lesson: Lesson, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "stack.py"
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "link":
            path.symlink_to("nowhere")
        case "large":
            path.write_bytes(bytes(1 << 21))
    verdict = grade(lesson, path)
    assert (verdict.status, verdict.max_points) == ("cannot_load", 20)
    assert isinstance(verdict.error, LoadError)
    assert "reset" not in verdict.error.fix


def test_a_name_that_is_no_text_is_as_good_as_any(toy: Any, lesson: Lesson, tmp_path: Path) -> None:
    submission = Path(os.fsdecode(os.fsencode(tmp_path) + b"/s\xff.py"))
    submission.write_bytes(toy.submit(tmp_path).read_bytes())
    assert grade(lesson, submission).status == "passed"
    submission.write_bytes(b"def f(:\n")
    error = grade(lesson, submission).error
    assert isinstance(error, LoadError)
    assert error.file.endswith("s�.py")


def running(text: str) -> Iterator[int]:
    """The processes with this in their command line."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                command = (entry / "cmdline").read_text(errors="replace")
            except OSError:
                continue
            if text in command:
                yield int(entry.name)


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)
