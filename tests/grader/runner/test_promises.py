"""Which call broke what the stub's annotations promise."""

import pytest

from grader.runner.promises import Broken, Promises
from grader.worker import Call, Opaque, Record
from grader.worker.story import Name

STUB = """
class Output: ...

class Pool:
    def take(self, number: int) -> list[int]: ...
    def usage(self) -> float: ...
    @property
    def free(self) -> int: ...
    def hits(self) -> tuple[list[int], int]: ...
    def find(self) -> int | None: ...
    def state(self) -> dict[str, list[int]]: ...
    def step(self) -> Output: ...
    def any(self) -> Something: ...

def count(blocks): ...
"""


@pytest.mark.parametrize(
    ("text", "result", "belongs"),
    [
        ("pool.take(1)", [1], None),
        ("pool.take(1)", None, "a list[int]"),
        ("pool.take(1)", (1,), "a list[int]"),
        ("pool.take(1)", [1, None], "a list[int]"),
        ("pool.take(1)", Opaque("range"), "a list[int]"),
        ("pool.take", 3, "a method"),
        ("pool.usage()", 1, None),
        ("pool.usage()", "1", "a float"),
        ("pool.free", 1, None),
        ("pool.free", True, "an int"),
        ("pool.hits()", ([1], 1), None),
        ("pool.hits()", ([1], 1, 1), "a tuple[list[int], int]"),
        ("pool.hits()", ([1],), "a tuple[list[int], int]"),
        ("pool.find()", None, None),
        ("pool.find()", [], "an int | None"),
        ("pool.state()", {"a": [1]}, None),
        ("pool.state()", {1: [1]}, "a dict[str, list[int]]"),
        ("pool.step()", Record("Output", {}), None),
        ("pool.step()", Name("output"), None),
        ("pool.step()", None, "an Output"),
        ("pool.any()", None, None),
        ("count([])", None, None),
        ("Pool(3)", 5, "a Pool"),
        ("Pool", None, "a class"),
    ],
)
def test_a_result_is_held_against_its_annotation(
    text: str, result: object, belongs: str | None
) -> None:
    broken = Promises(STUB).broken_by([Call(text, result)])
    assert broken == (belongs and Broken(0, belongs))


def test_the_last_call_that_broke_one_is_to_blame_and_only_the_suites_own() -> None:
    calls = [
        Call("pool.usage()", None),
        Call("pool.take(1)", None),
        Call("pool.take(2)", [1]),
        Call("part.take(2)", None, depth=1),
        Call("pool.take(3)", None, error=ValueError("too many")),
        Call("pool = Pool(3)", Name("pool"), assigned=True),
    ]
    assert Promises(STUB).broken_by(calls) == Broken(1, "a list[int]")
