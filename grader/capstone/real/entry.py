"""The submission that a worker loads in the oracle's environment to run a release's own code."""

import importlib
import sys
from pathlib import Path
from typing import Any

import grader

ROOT = Path(__file__).parents[3]
sys.path.append(str(ROOT))
grader.__path__.append(str(ROOT / "grader"))


def version() -> str:
    """The release's, as it says itself."""
    import vllm

    return str(vllm.__version__)


def run(kind: str, inputs: dict[str, Any], side: dict[str, Any]) -> dict[str, Any]:
    """The facts of one side of a scenario."""
    module = importlib.import_module(f"grader.capstone.real.{kind}")
    facts: dict[str, Any] = module.run(inputs, side)
    return facts
