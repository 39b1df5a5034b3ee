"""When a submission's value is the one the rule gives."""

from dataclasses import dataclass

import numpy as np
import pytest

from grader.equality import same


@dataclass
class Hit:
    blocks: list[int]
    length: int


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([1, (2, {3})], [1, (2, {3})]),
        ({"a": 1, "b": [2]}, {"b": [2], "a": 1}),
        (1 - 3 / 7, 4 / 7),
        (float("nan"), float("nan")),
        (float("inf"), float("inf")),
        (Hit([1], 4), Hit([1], 4)),
        (np.array([1.0, 2.0]), np.array([1.0, 2.0])),
        (frozenset({(1, b"a")}), frozenset({(1, b"a")})),
    ],
)
def test_equal_values_of_equal_types_are_the_same(left: object, right: object) -> None:
    assert same(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (True, 1),
        (1, 1.0),
        ([1], (1,)),
        ({1}, {True}),
        ({1: "a"}, {True: "a"}),
        ({1}, frozenset({1})),
        ([1, 2], [1, 2, 3]),
        ({"a": 1}, {"a": 1, "b": 1}),
        (0.625, 0.714),
        (float("nan"), 1.0),
        (Hit([1], 4), Hit([1], 5)),
        (Hit([1], 4), [[1], 4]),
        (np.array([1, 2]), np.array([1.0, 2.0])),
        (np.array([1, 2]), np.array([[1, 2]])),
        (object(), object()),
    ],
)
def test_other_values_and_other_types_are_not(left: object, right: object) -> None:
    assert not same(left, right)


def test_an_object_that_claims_to_be_equal_to_everything_is_not() -> None:
    class Liar:
        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 1

    assert not same(Liar(), 1)
    assert not same({Liar()}, {1})
