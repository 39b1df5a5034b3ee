"""Mutants that return something of the wrong kind."""

from typing import Any

from grader.prove.shapes import shapes

SOLUTION = """
class Pool:
    def __init__(self) -> None:
        self.ids = [1, 2]

    def take(self) -> int:
        ### BEGIN SOLUTION take one
        return self.ids.pop()
        ### END SOLUTION

    def drop(self) -> None:
        ### BEGIN SOLUTION drop one
        self.ids.pop()
        ### END SOLUTION

    def given(self) -> int:
        return 1

    @property
    def free(self) -> int:
        ### BEGIN SOLUTION count
        return len(self.ids)
        ### END SOLUTION

    @staticmethod
    def most() -> int:
        return 2

    def _kept(self) -> int:
        return 3


def count(pool: Pool) -> int:
    ### BEGIN SOLUTION count
    return pool.free
    ### END SOLUTION
"""


def run(source: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    return namespace


def test_each_public_function_returns_what_it_should_not_after_its_work() -> None:
    found = [change for change in shapes(SOLUTION, "pool.py") if change.operator == "ReturnsText"]
    called = {}
    for change in found:
        module = run(change.source)
        pool = module["Pool"]()
        results = {"free": pool.free, "count": module["count"](pool), "most": pool.most()}
        results |= {name: getattr(pool, name)() for name in ("take", "drop", "given")}
        called[change.line] = [name for name, result in results.items() if result == "x"]
        assert len(pool.ids) == 0
    assert called == {
        "def take(self) -> int:": ["take"],
        "def drop(self) -> None:": ["drop"],
        "def given(self) -> int:": ["given"],
        "def free(self) -> int:": ["free", "count"],
        "def most() -> int:": ["most"],
        "def count(pool: Pool) -> int:": ["count"],
    }


def test_what_is_given_or_returns_nothing_may_pass() -> None:
    may_pass = {change.line.split("(")[0] for change in shapes(SOLUTION, "p.py") if change.may_pass}
    assert may_pass == {"def drop", "def given", "def most"}
