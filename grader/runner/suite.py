"""Collecting a suite with pytest and giving its checks to whoever runs them."""

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from _pytest._io import TerminalWriter

from grader import drawing
from grader.checks import Check
from grader.runner.failures import CHECK_TIMEOUT

# What a suite has no use for; each costs a little at every start and every check.
_WITHOUT = (
    *("cacheprovider", "debugging", "doctest", "faulthandler", "junitxml", "legacypath"),
    *("logging", "monkeypatch", "pastebin", "recwarn", "setuponly", "setupplan", "stepwise"),
    *("terminal", "threadexception", "tmpdir", "unittest", "unraisableexception", "warnings"),
)

Run = Callable[[Callable[..., None], dict[str, Any]], None]


class SuiteError(Exception):
    """A suite that cannot be used: it does not load, or a check lacks what a check has."""


class Collection:
    """A pytest plugin: collects one suite, and lets its checks be run one at a time.

    ``serve`` is called once with the checks, inside pytest's session; the process that
    ``run_check`` is called in may be a fork of it.
    """

    def __init__(self, serve: Callable[["Collection"], None]) -> None:
        self._serve = serve
        self._run: Run | None = None
        self._lesson: object = None
        self._setup_problem: str | None = None
        self.items: list[pytest.Function] = []
        self.problem: str | None = None

    def check_of(self, item: pytest.Function) -> Check:
        check: Check = vars(item.function)["check"]
        return check

    def run_check(self, item: pytest.Function, lesson: object, run: Run) -> str | None:
        """Have ``run`` called with the check's function and fixtures.

        Gives what went wrong around it, in the suite's own fixtures; None if all went well.
        """
        self._run, self._lesson, self._setup_problem = run, lesson, None
        item.ihook.pytest_runtest_protocol(item=item, nextitem=None)
        return self._setup_problem

    @pytest.fixture
    def lesson(self) -> object:
        """The submission, as a suite sees it."""
        return self._lesson

    def pytest_configure(self, config: pytest.Config) -> None:
        config.option.importmode = "importlib"
        config.pluginmanager.register(_Mute(), "terminalreporter")
        drawing.load()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.problem = report.longreprtext

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = [item for item in session.items if isinstance(item, pytest.Function)]
        self.problem = self.problem or _problem_with(self.items)
        drawing.warm_up()
        self._serve(self)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool:
        if self._run is None:
            raise SuiteError("a check was run by pytest itself")
        names = pyfuncitem._fixtureinfo.argnames
        self._run(pyfuncitem.obj, {name: pyfuncitem.funcargs[name] for name in names})
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._setup_problem = report.longreprtext


def collect(suite: Path, root: Path, serve: Callable[[Collection], None]) -> None:
    """Collect a suite and call ``serve`` with it; ``problem`` says if it cannot be used."""
    collection = Collection(serve)
    options = [word for name in _WITHOUT for word in ("-p", f"no:{name}")]
    options += ["-p", "pytest_timeout", f"--timeout={CHECK_TIMEOUT}", "--timeout-method=signal"]
    options += ["-s", "--assert=plain", "--noconftest"]
    options += ["-c", os.devnull, f"--rootdir={root}", str(suite)]
    with _only_named_plugins():
        code = pytest.main(options, plugins=[collection])
    if code == pytest.ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    if code in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERNAL_ERROR):
        collection.problem = f"pytest ended with {pytest.ExitCode(code).name}"
        serve(collection)


class _Mute:
    """Takes the place of pytest's terminal report; other plugins write to it."""

    def __init__(self) -> None:
        self._tw = TerminalWriter(io.StringIO())


def _problem_with(items: list[pytest.Function]) -> str | None:
    if not items:
        return "the suite has no checks"
    unmarked = [item.name for item in items if "check" not in vars(item.function)]
    if unmarked:
        return f"no @check above {', '.join(unmarked)}"
    return _problem_with_needs({item.name: vars(item.function)["check"].needs for item in items})


def _problem_with_needs(needs: dict[str, tuple[str, ...]]) -> str | None:
    for name, needed in needs.items():
        unknown = [other for other in needed if other not in needs]
        if unknown:
            return f"{name} needs {', '.join(unknown)}, which the suite does not have"
    settled: set[str] = set()
    while len(settled) < len(needs):
        ready = {name for name in needs if settled.issuperset(needs[name])} - settled
        if not ready:
            return f"{', '.join(sorted(needs.keys() - settled))} need one another"
        settled |= ready
    return None


@contextmanager
def _only_named_plugins() -> Iterator[None]:
    ours = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "", "PYTEST_PLUGINS": ""}
    before = {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
