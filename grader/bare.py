"""A pytest plugin that runs a suite on its solution, imported plainly: no worker, no report.

    pytest -p grader.bare grader/suites/kv_cache/block_pool.py

It is what the grader's own cost is measured against, and the quickest way to try a suite.
"""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from grader import checks, drawing

ROOT = Path(__file__).resolve().parents[1]
SUITES = ROOT / "grader" / "suites"


def pytest_configure(config: pytest.Config) -> None:
    # Suites of different topics may share a file name; only this mode tells them apart.
    config.option.importmode = "importlib"
    drawing.load()


@pytest.fixture
def lesson(request: pytest.FixtureRequest) -> ModuleType:
    """The solution of the lesson whose suite is running; a fresh module for each check."""
    checks.begin_story()
    return import_plainly(solution_of(request.path))


def solution_of(suite: Path) -> Path:
    """The solution that a suite belongs to; for a suite elsewhere, the sibling ``solutions``."""
    if suite.is_relative_to(SUITES):
        return ROOT / "solutions" / suite.relative_to(SUITES)
    topic, name = suite.parts[-2:]
    return suite.parents[2] / "solutions" / topic / name


def import_plainly(path: Path) -> ModuleType:
    """Import a module from its path under a name of its own."""
    name = f"lesson_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(f"{path}: there is no solution to run the suite on")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # a dataclass looks its module up by name
    spec.loader.exec_module(module)
    return module
