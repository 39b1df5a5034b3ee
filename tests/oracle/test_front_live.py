"""The engine's front beside vLLM's own classes, on drawn scripts."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from grader.oracle.environment import find_oracle
from grader.oracle.front.differential import diff_front
from grader.oracle.front.strategies import SCRIPTS
from grader.oracle.session import real_front

pytestmark = pytest.mark.skipif(
    find_oracle() is None, reason="needs the oracle (vllmlings oracle install)"
)


@pytest.fixture(scope="module")
def real() -> Iterator[Callable[[str, dict[str, Any]], Any]]:
    with real_front() as run:
        yield run


@pytest.mark.parametrize("kind", sorted(SCRIPTS))
def test_the_fronts_agree_on_drawn_scripts(
    real: Callable[[str, dict[str, Any]], Any], kind: str
) -> None:
    report = diff_front(kind, 150, 7, real)
    assert report.disagreement is None
