"""What works on this machine, as data: for a learner, and for a teacher."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from grader.oracle import environment as oracle
from grader.sandbox import Bubblewrap, SandboxMissing
from grader.worker import Worker, WorkerNotStarted

Audience = Literal["learner", "teacher", "author"]


@dataclass(frozen=True)
class Finding:
    """One thing that was tried: whom it matters to, and what helps where it does not work."""

    name: str
    audience: Audience
    works: bool
    detail: str
    fix: str = ""


def examine() -> Iterator[Finding]:
    """Try everything, one after the other."""
    yield from (check() for check in _CHECKS)


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    works = sys.version_info >= (3, 11)
    return Finding("Python", "learner", works, version, "install Python 3.11 or newer")


def _worker() -> Finding:
    try:
        with Worker() as worker, worker.session():
            return Finding("worker", "learner", True, "a submission's process starts")
    except WorkerNotStarted as error:
        return Finding(
            "worker", "learner", False, str(error), "pip install -c constraints.txt -e ."
        )


def _sandbox() -> Finding:
    try:
        Bubblewrap().try_out()
    except SandboxMissing as missing:
        return Finding("sandbox", "teacher", False, missing.cause, missing.fix)
    return Finding("sandbox", "teacher", True, "bubblewrap confines a submission")


def _extra(name: str, package: str, audience: Audience, purpose: str) -> Callable[[], Finding]:
    def check() -> Finding:
        works = importlib.util.find_spec(package) is not None
        fix = f"pip install -c constraints.txt -e '.[{name}]'"
        return Finding(f"extra {name}", audience, works, purpose, fix)

    return check


def _oracle() -> Finding:
    works = oracle.read_marker(oracle.default_directory()) is not None
    detail = "the real vLLM to compare with"
    return Finding("oracle", "author", works, detail, "vllmlings oracle install")


_CHECKS = (
    _python,
    _worker,
    _sandbox,
    _extra("classroom", "nbgrader", "teacher", "gradebook and notebooks"),
    _extra("dask", "distributed", "teacher", "grading on many machines"),
    _extra("dev", "mypy", "author", "linters and type checker"),
    _oracle,
)
