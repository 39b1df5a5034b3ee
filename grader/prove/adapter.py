"""A lesson's adapter: the real vLLM behind the lesson's interface."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader.lessons import ROOT, Lesson
from grader.oracle.environment import ENVIRONMENT, VLLM_VERSION, require_oracle
from grader.runner.interpreter import Interpreter
from grader.worker import Limits

#: The real engine takes its time on what it does first.
PATIENCE = 6.0


class MalformedAdapter(Exception):
    """A constant of an adapter is not the literal that it has to be."""


@dataclass(frozen=True)
class Adapter:
    """What an adapter says of itself in literal constants, read without running it.

    `preload` (`PRELOAD`) are the modules of vLLM that it uses, `skips` (`SKIPS`) the checks that
    cannot hold for the real engine with the reason, and `not_drivable` (`NOT_DRIVABLE`) why a CPU
    cannot run the mechanism, where that is so.
    """

    file: Path
    preload: tuple[str, ...] = ()
    skips: dict[str, str] = field(default_factory=dict)
    not_drivable: str = ""

    def interpreter(self) -> Interpreter:
        """What runs it: the oracle's Python. Raises `OracleMissing`."""
        return Interpreter(
            python=str(require_oracle()),
            preload=self.preload,
            limits=Limits.for_oracle(),
            environment=ENVIRONMENT,
            patience=PATIENCE,
        )


def file_of(lesson: Lesson) -> Path:
    """Where the lesson's adapter lies."""
    return lesson.root / "grader" / "adapters" / f"{lesson.name}.py"


def adapter_of(lesson: Lesson) -> Adapter | None:
    """The lesson's adapter, None if it has none.

    Raises:
        MalformedAdapter: it is no Python, or a constant is no literal of the right shape.
    """
    file = file_of(lesson)
    if not file.is_file():
        return None
    try:
        constants = _constants(file.read_bytes())
    except (SyntaxError, ValueError) as error:
        raise MalformedAdapter(f"{error}") from None
    preload = constants.get("PRELOAD", ())
    skips = constants.get("SKIPS", {})
    not_drivable = constants.get("NOT_DRIVABLE", "")
    if not (isinstance(preload, tuple) and all(isinstance(name, str) for name in preload)):
        raise MalformedAdapter("PRELOAD is no tuple of module names")
    if not (isinstance(skips, dict) and all(isinstance(s, str) and s for s in skips.values())):
        raise MalformedAdapter("SKIPS is no dict from a check's name to a reason")
    if not isinstance(not_drivable, str):
        raise MalformedAdapter("NOT_DRIVABLE is no sentence")
    return Adapter(file, preload, skips, not_drivable)


def depends_on() -> bytes:
    """What the outcome of any adapter depends on besides its own text."""
    shared = [ROOT / "grader" / "adapters" / "kit.py", *(ROOT / "grader" / "oracle").glob("*.py")]
    return VLLM_VERSION.encode() + b"".join(
        path.read_bytes() for path in sorted(shared) if path.is_file()
    )


def _constants(source: bytes) -> dict[str, Any]:
    """The literal values that the module's capitalised names are given."""
    found: dict[str, Any] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name, value = node.target.id, node.value
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name, value = node.targets[0].id, node.value
        else:
            continue
        if name in ("PRELOAD", "SKIPS", "NOT_DRIVABLE") and value is not None:
            found[name] = ast.literal_eval(value)
    return found
