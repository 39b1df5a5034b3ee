"""Whatever a submission does, the suite gets a typed error and the next session works."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import Load, Write

from grader.worker import (
    CallTimedOut,
    Limits,
    OutOfMemory,
    ProtocolViolation,
    Session,
    SubmissionRaised,
    Worker,
    WorkerDied,
    WorkerError,
    WorkerNotStarted,
)


@pytest.fixture(autouse=True)
def _the_worker_works_afterwards(worker: Worker, tmp_path: Path) -> Iterator[None]:
    yield
    path = tmp_path / "fine.py"
    path.write_text("def f(): return 1")
    with worker.session() as session:
        assert session.load(path, "fine").f() == 1


Run = Callable[[str], object]


@pytest.fixture
def small() -> Iterator[Worker]:
    with Worker(limits=Limits(memory=64 << 20)) as worker:
        yield worker


def runs_in(session: Session, write: Write) -> Run:
    def run(body: str) -> object:
        lines = "\n".join(f"    {line}" for line in body.splitlines())
        return session.load(write(f"import os, sys\ndef f():\n{lines}\n"), "lesson").f()

    return run


@pytest.fixture
def run(session: Session, write: Write) -> Run:
    """Runs a body in a function of a submission."""
    return runs_in(session, write)


@pytest.fixture
def run_briefly(impatient: Session, write: Write) -> Run:
    """Gives it 0.3 s."""
    return runs_in(impatient, write)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_an_endless_loop_is_ended_at_its_deadline(run_briefly: Run) -> None:
    started = time.monotonic()
    with pytest.raises(CallTimedOut) as timed_out:
        run_briefly("while True: pass")
    assert (timed_out.value.call, timed_out.value.seconds) == ("f()", 0.3)
    assert time.monotonic() - started < 2


def test_an_endless_load_is_too(impatient: Session, write: Write) -> None:
    with pytest.raises(CallTimedOut, match="import lesson"):
        impatient.load(write("while True: pass"), "lesson")


def test_a_session_that_has_ended_says_so_until_the_next_story(
    impatient: Session, write: Write
) -> None:
    lesson = impatient.load(write("def loop():\n  while True: pass\ndef f(): return 1"), "lesson")
    for call in (lesson.loop, lesson.f):
        with pytest.raises(CallTimedOut, match=r"loop\(\)"):
            call()
    impatient.begin_story()
    assert lesson.f() == 1


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        ("os._exit(0)", "exit code 0"),
        ("os._exit(3)", "exit code 3"),
        ("os.kill(os.getpid(), 11)", "SIGSEGV"),
        ("os.kill(os.getpid(), 9)", "SIGKILL"),
        ("os.kill(os.getppid(), 9); sys.stdin.read(); import time; time.sleep(9)", "SIGKILL|unkn"),
        ("os.closerange(3, 256)", "exit code 71"),
    ],
)
def test_a_process_that_ends_is_told_with_how_it_ended(run: Run, body: str, cause: str) -> None:
    with pytest.raises(WorkerDied, match=cause) as died:
        run(body)
    assert died.value.call == "f()"


@pytest.mark.parametrize(
    ("body", "type_name"),
    [
        ("sys.exit(0)", "SystemExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("import signal; signal.raise_signal(signal.SIGINT)", "KeyboardInterrupt"),
        ("input()", "EOFError"),
        ("f()", "RecursionError"),
        ("return str(10 ** 100_000)", "ValueError"),
    ],
)
def test_an_exception_of_any_kind_is_only_an_exception(run: Run, body: str, type_name: str) -> None:
    with pytest.raises(SubmissionRaised) as raised:
        run(body)
    assert raised.value.type_name == type_name
    assert raised.value.line == 3


@pytest.mark.parametrize("body", ["return bytes(65 << 20)", "a = [0]\nwhile True: a += a"])
def test_memory_is_limited(small: Worker, write: Write, body: str) -> None:
    text = "\n".join(f"    {line}" for line in body.splitlines())
    with small.session() as session, pytest.raises(OutOfMemory):
        session.load(write(f"def f():\n{text}\n"), "lesson").f()


def test_the_usual_limit_refuses_ten_gigabytes(session: Session, write: Write) -> None:
    with pytest.raises(OutOfMemory):
        session.load(write("def f(): return bytes(10 << 30)"), "lesson").f()


def test_memory_is_not_limited_where_the_limits_say_so(write: Write) -> None:
    source = "import mmap\ndef f(): return len(mmap.mmap(-1, 8 << 30))"
    with Worker(limits=Limits.for_oracle()) as worker, worker.session() as session:
        assert session.load(write(source), "lesson").f() == 8 << 30


def test_a_file_cannot_grow_without_end(run: Run, tmp_path: Path) -> None:
    with pytest.raises(SubmissionRaised, match="too large"):
        run(f"open({str(tmp_path / 'big')!r}, 'wb').write(bytes(65 << 20))")


def test_a_million_printed_lines_are_cut_in_the_middle(session: Session, write: Write) -> None:
    source = "def f():\n  for n in range(1_000_000): print('line', n)\n  return 1"
    session.deadline = 60.0
    assert session.load(write(source), "lesson").f() == 1
    assert session.printed.startswith("line 0\nline 1\n")
    assert session.printed.endswith("line 999999\n")
    assert "bytes not kept" in session.printed
    assert len(session.printed) < 140_000


def test_what_was_printed_before_the_end_is_kept(impatient: Session, write: Write) -> None:
    source = "import sys\ndef f():\n  print('out'); print('\\ud800', file=sys.stderr)\n  while 1: 1"
    with pytest.raises(CallTimedOut):
        impatient.load(write(source), "lesson").f()
    assert impatient.printed == "out\n\\ud800\n"


def test_output_that_is_closed_or_replaced_hinders_nobody(run: Run) -> None:
    assert run("os.close(1); os.close(2); sys.stdout = sys.stderr = None; return 1") == 1


CHILD = "import gc; c = next(o for o in gc.get_objects() if type(o).__name__ == 'Child')\n"


@pytest.mark.parametrize(
    "body",
    [
        "os.write(c._writer, b'garbage that is no frame')",
        "os.write(c._writer, b'\\xff' * 4)",
        "os.write(c._writer, b'\\x00' * 4)",
        "os.write(c._writer, b'\\x02\\x00\\x00\\x00\\x91\\xff')",
        "os.write(c._writer, b'\\x00\\x00\\x10\\x00' + b'\\x91' * (1 << 20))",
        "os.write(c._writer, b'\\x05\\x00\\x00\\x00\\xdd\\xff\\xff\\xff\\xff')",
        "c._send(c._answer.__globals__['wire'].Returned(1, 1))",
        "c._send(c._answer.__globals__['wire'].Returned(2**60, 1))",
        "c._send(c._answer.__globals__['wire'].Member(2, 'class'))",
        "c._send(c._answer.__globals__['wire'].NotLoaded(3, 'nonsense', '', 1, ''))",
        "c._send(c._answer.__globals__['wire'].Returned(3, [9, 'x', 3, None]))",
        "c._send(c._answer.__globals__['wire'].Returned(3, [7, '|O8', [1], b'12345678']))",
        "c._send(c._answer.__globals__['wire'].Returned(3, [7, '<i8', [-1], b'12345678']))",
        "c._send(c._answer.__globals__['wire'].Returned(3, [2, [0]]))",
        "c._send(c._answer.__globals__['wire'].Returned(3, [4, 1]))",
        "c._send(c._answer.__globals__['wire'].Returned(3, [8, 1, 'R', {1: 2}, {}]))",
        "c._send(c._answer.__globals__['wire'].Returned(3, {'a': 1}))",
        "c._send(c._answer.__globals__['wire'].Asked(9, 'f', [], {}))",
    ],
)
def test_a_forged_or_broken_message_is_a_violation(run: Run, body: str) -> None:
    with pytest.raises(ProtocolViolation):
        run(f"{CHILD}{body}\nimport time; time.sleep(9)")


def test_a_message_cut_short_or_drop_by_drop_ends_at_the_deadline(run_briefly: Run) -> None:
    with pytest.raises(CallTimedOut):
        run_briefly(
            f"{CHILD}os.write(c._writer, b'\\x00\\x00\\x10\\x00')\n"
            "import time\nwhile True: os.write(c._writer, b'x'); time.sleep(0.01)"
        )


def test_a_session_that_no_longer_reads_does_not_block_the_suite(
    impatient: Session, write: Write
) -> None:
    lesson = impatient.load(write("def f(x=0):\n  while True: pass"), "lesson")
    with pytest.raises(CallTimedOut):
        lesson.f(bytes(1 << 20))


def test_an_argument_too_large_is_the_suites_error(impatient: Session, write: Write) -> None:
    lesson = impatient.load(write("def f(x=0): pass"), "lesson")
    with pytest.raises(ValueError, match="too many"):
        lesson.f(bytes(33 << 20))


def test_exceptions_with_wild_messages_are_told_within_bounds(load: Load) -> None:
    lesson = load(
        """
        class Raising(Exception):
            def __str__(self): raise ValueError
        class Huge(Exception):
            def __str__(self): return "x" * 10**7
        class Odd(Exception):
            def __str__(self): return "\\ud800"
        def f(name): raise globals()[name]
        """
    )
    messages = {}
    for name in ("Raising", "Huge", "Odd"):
        with pytest.raises(SubmissionRaised) as raised:
            lesson.f(name)
        messages[name] = raised.value.message
    assert "__str__ raised ValueError" in messages["Raising"]
    assert len(messages["Huge"]) < 5000
    assert messages["Odd"] == "\\ud800"


def test_threads_and_processes_that_outlive_the_call_are_ended(
    worker: Worker, write: Write
) -> None:
    source = """
    import os, subprocess, threading, time
    def forked():
        pid = os.fork()
        if pid: return pid
        time.sleep(60)
    def escaped():
        return subprocess.Popen(["sleep", "60"], start_new_session=True).pid
    def orphaned():
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.setsid()
            if (pid := os.fork()) == 0: time.sleep(60)
            os.write(writer, str(pid).encode())
            os._exit(0)
        return int(os.read(reader, 20))
    def threaded():
        threading.Thread(target=time.sleep, args=[60]).start()
        return os.getpid()
    """
    with worker.session() as session:
        lesson = session.load(write(source), "lesson")
        pids = [lesson.forked(), lesson.escaped(), lesson.orphaned(), lesson.threaded()]
        assert all(map(alive, pids))
    assert not any(map(alive, pids))


def test_a_forked_copy_that_returns_into_the_conversation_is_not_heard(run: Run) -> None:
    assert run("return 1 if os.fork() else 2") == 1


def test_a_part_cannot_be_used_from_another_thread(load: Load) -> None:
    from grader.worker import Part

    lesson = load(
        """
        import threading
        def f(part):
            told = []
            def use():
                try: part.pop()
                except RuntimeError as error: told.append(str(error))
            thread = threading.Thread(target=use); thread.start(); thread.join()
            return told
        """
    )
    assert "main thread" in lesson.f(Part([1], ("pop",)))[0]


def test_a_worker_that_the_submission_kills_is_replaced(worker: Worker, write: Write) -> None:
    source = "import os, signal\ndef f():\n  os.kill(os.getppid(), signal.SIGKILL)\n  return 1"
    with worker.session() as session, contextlib.suppress(WorkerError):
        session.load(write(source), "lesson").f()


def test_the_environment_of_the_trusted_side_is_not_seen(
    monkeypatch: pytest.MonkeyPatch, write: Write
) -> None:
    monkeypatch.setenv("A_TOKEN", "secret")
    with Worker(environment={"GIVEN": "1"}) as worker, worker.session() as session:
        lesson = session.load(write("import os\ndef f(): return dict(os.environ)"), "lesson")
        seen = lesson.f()
    assert "A_TOKEN" not in seen
    assert seen["GIVEN"] == "1"


def test_an_interrupt_on_the_trusted_side_ends_the_process(worker: Worker, write: Write) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    source = "import os\ndef pid(): return os.getpid()\ndef f():\n  while True: pass"
    pid = 0
    try:
        with worker.session() as session:
            lesson = session.load(write(source), "lesson")
            pid = lesson.pid()
            with pytest.raises(KeyboardInterrupt):
                lesson.f()
            assert not alive(pid)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_when_the_trusted_side_is_killed_nothing_is_left_running(write: Write) -> None:
    path = write("import os\ndef pid(): return os.getpid(), os.getppid()")
    script = f"""
import time
from grader.worker import Worker
worker = Worker()
session = worker.session()
print(*session.load({str(path)!r}, "lesson").pid(), flush=True)
time.sleep(60)
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
    ) as host:
        assert host.stdout is not None
        pids = [int(pid) for pid in host.stdout.readline().split()]
        assert all(map(alive, pids))
        host.kill()
    for _ in range(200):
        if not any(map(alive, pids)):
            break
        time.sleep(0.01)
    assert not any(map(alive, pids))


def test_no_descriptor_is_left_open(write: Write) -> None:
    path = write("def f(): return 1\ndef loop():\n  while True: pass")
    before = len(os.listdir("/proc/self/fd"))
    with Worker() as worker:
        for _ in range(3):
            with worker.session(deadline=0.1) as session:
                lesson = session.load(path, "lesson")
                with pytest.raises(CallTimedOut):
                    lesson.loop()
    assert len(os.listdir("/proc/self/fd")) == before


def test_an_interpreter_that_cannot_run_a_worker_is_told(write: Write, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho no msgspec here >&2; exit 1\n")
    python.chmod(0o755)
    with (
        Worker(str(python)) as worker,
        worker.session() as session,
        pytest.raises(WorkerNotStarted, match="no msgspec here"),
    ):
        session.load(write(""), "lesson")
