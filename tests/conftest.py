"""`@pytest.mark.needs("bubblewrap")`: a test that needs a part of the system.

Where that is missing the test is skipped, with what is missing; in CI it fails.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.sandbox import Bubblewrap, SandboxMissing


def _bubblewrap() -> str:
    try:
        Bubblewrap().try_out()
    except SandboxMissing as missing:
        return str(missing)
    return ""


def _postgresql() -> str:
    there = shutil.which("initdb") or any(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return "" if there else "PostgreSQL's initdb is missing: apt-get install postgresql"


def _chromium() -> str:
    there = shutil.which("chromium") and shutil.which("chromedriver")
    if not there:
        return "a browser is missing: apt-get install chromium chromium-driver"
    has_selenium = importlib.util.find_spec("selenium")
    return "" if has_selenium else "selenium is missing: pip install -e '.[browser]'"


_PARTS: dict[str, Callable[[], str]] = {
    "bubblewrap": _bubblewrap,
    "postgresql": _postgresql,
    "chromium": _chromium,
}
_found: dict[str, str] = {}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs(part): needs a part of the system")


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("needs"):
        for part in mark.args:
            if part not in _found:
                _found[part] = _PARTS[part]()
            if problem := _found[part]:
                (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(problem)
