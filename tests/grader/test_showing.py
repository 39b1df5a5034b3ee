"""Values as text."""

from dataclasses import dataclass
from time import perf_counter

import numpy as np
import pytest

from grader.showing import shown


@dataclass
class Hit:
    blocks: set[str]


@pytest.mark.parametrize(
    "value", [1, True, None, "a", b"a", 1.5, [], (), (1,), {}, set(), frozenset(), [(1, {"a": 2})]]
)
def test_a_plain_value_reads_as_python_writes_it(value: object) -> None:
    assert shown(value) == repr(value)


def test_sets_are_in_order_so_that_a_story_is_the_same_in_each_process() -> None:
    assert shown({"c", "a", "b"}) == "{'a', 'b', 'c'}"
    assert shown([frozenset({2, 1})]) == "[frozenset({1, 2})]"
    assert shown({1, "a"}) == "{'a', 1}"
    assert shown(Hit({"b", "a"})) == "Hit(blocks={'a', 'b'})"


def test_what_is_long_is_shortened_and_says_so() -> None:
    assert shown(list(range(41))).endswith("39, … 1 more (41 long)]")
    assert shown("x" * 500).endswith("… (500 long)")
    assert len(shown([[i] * 100 for i in range(100)])) < 10_000


def test_an_array_is_on_one_line() -> None:
    assert "\n" not in shown(np.zeros((3, 4)))


def test_it_takes_no_longer_than_its_text() -> None:
    began = perf_counter()
    for value in (range(1_000_000), dict.fromkeys(range(1_000_000))):
        assert len(shown(list(value) if isinstance(value, range) else value)) < 1000
    deep: list[object] = [1]
    for _ in range(12):
        deep = [deep] * 12
    assert len(shown(deep)) < 10_000
    assert perf_counter() - began < 2


def test_what_python_cannot_write_is_shown_all_the_same() -> None:
    assert shown([10**5000]) == "[<an int of 16610 bits>]"
    itself: list[object] = []
    itself.append(itself)
    assert "…" in shown(itself)
