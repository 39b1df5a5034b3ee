"""What a submission can reach from inside the sandbox: nothing but itself."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.runner.interpreter import Interpreter
from grader.sandbox import SEALED, SandboxMissing, choose
from grader.sandbox.bubblewrap import Bubblewrap
from grader.sandbox.view import view_of
from grader.worker import Worker, WorkerDied

ROOT = Path(__file__).parents[2]

PROBE = b"""
import ctypes, os, socket, time

def listing(path):
    return sorted(os.listdir(path))

def writes(path):
    try:
        open(path, "w")
    except OSError as error:
        return type(error).__name__
    return "written"

def reads(path):
    try:
        return open(path, "rb").read()
    except OSError as error:
        return type(error).__name__

def connects(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1)
    except OSError as error:
        return type(error).__name__
    return "connected"

def forks():
    for number in range(1000):
        try:
            if os.fork() == 0:
                time.sleep(60)
                os._exit(0)
        except OSError:
            return number
    return 1000

def new_user_namespace():
    return ctypes.CDLL(None).unshare(0x10000000)

def capabilities():
    return [line for line in open("/proc/self/status") if line.startswith("CapEff")]

def end_the_worker():
    os.kill(os.getppid(), 9)
    time.sleep(5)

def identity():
    return os.uname().nodename, os.path.expanduser("~")
"""


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Interpreter(launcher=choose("bubblewrap"), limits=SEALED).start() as worker:
        yield worker


@pytest.fixture
def probe(worker: Worker, tmp_path: Path) -> Iterator[Any]:
    file = tmp_path / "probe.py"
    file.write_bytes(PROBE)
    with worker.session(deadline=10.0) as session:
        yield session.load(file, "probe")


def test_of_the_repository_only_the_workers_folder_is_there(probe: Any) -> None:
    assert probe.listing(str(ROOT / "grader")) == ["worker"]
    assert set(probe.listing(str(ROOT))) <= {"grader", ".venv"}


def test_the_submission_itself_is_no_file_inside(probe: Any, tmp_path: Path) -> None:
    assert probe.reads(str(tmp_path / "probe.py")) == "FileNotFoundError"


def test_home_and_tmp_are_empty(probe: Any) -> None:
    assert probe.identity() == ("sandbox", "/tmp")
    # The course itself may lie below /tmp.
    assert set(probe.listing("/tmp")) <= set(ROOT.parts)


@pytest.mark.parametrize("place", ["/tmp/x", "/dev/shm/x", "/x", "/usr/x", "/etc/x"])
def test_nothing_can_be_written(probe: Any, place: str) -> None:
    assert probe.writes(place) in ("OSError", "PermissionError", "FileNotFoundError")


def test_its_own_code_cannot_be_changed(probe: Any) -> None:
    assert probe.writes(str(ROOT / "grader" / "worker" / "child.py")) == "OSError"


def test_secrets_of_the_system_are_not_there(probe: Any) -> None:
    for path in ("/etc/passwd", "/etc/shadow", str(Path.home() / ".bashrc")):
        assert probe.reads(path) == "FileNotFoundError"


def test_there_is_no_network(probe: Any) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        assert probe.connects(server.getsockname()[1]) == "ConnectionRefusedError"


def test_other_processes_are_out_of_sight(probe: Any) -> None:
    numbers = [int(name) for name in probe.listing("/proc") if name.isdigit()]
    assert len(numbers) <= 4
    assert os.getpid() not in numbers


def test_it_has_no_capability_and_gets_none(probe: Any) -> None:
    assert probe.capabilities() == ["CapEff:\t0000000000000000\n"]
    assert probe.new_user_namespace() == -1


def test_processes_are_limited_also_where_the_grader_is_root(probe: Any) -> None:
    assert SEALED.processes is not None
    assert probe.forks() < SEALED.processes


def test_a_submission_that_ends_the_worker_ends_only_its_own(worker: Worker, probe: Any) -> None:
    with pytest.raises(WorkerDied):
        probe.end_the_worker()
    with worker.session() as session:
        again = session.load(ROOT / "solutions/kv_cache/block_pool.py", "block_pool")
        assert again.BlockPool(4).get_new_blocks(1) == [1]


def test_packages_stay_out_of_sight_where_the_interpreter_is_shown_with_them() -> None:
    view = view_of("/usr/bin/python3")
    for folder in view.hidden:
        assert str(folder).endswith("-packages") or folder == ROOT


def test_a_missing_program_is_said_with_what_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SandboxMissing, match=r"bwrap is not installed.*apt-get install bubblewrap"):
        choose("bubblewrap")


def test_a_sandbox_that_does_not_start_is_said_with_its_own_words() -> None:
    with pytest.raises(SandboxMissing, match="does not work here"):
        Bubblewrap("/bin/false").try_out()
