"""Draws scripts, runs each on the reference engine's front and on vLLM's, and compares."""

from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as draw_from

from grader.oracle.front.driver import Script, run
from grader.oracle.front.reference_front import ReferenceFront
from grader.oracle.front.strategies import SCRIPTS

#: Runs a script of a kind on vLLM's own front.
RealFront = Callable[[str, Script], Any]


@dataclass(frozen=True)
class FrontDisagreement:
    """The smallest script found on which the two differ, and what it comes to on each."""

    script: Script
    reference: Any
    real: Any


@dataclass(frozen=True)
class FrontReport:
    """What comparing one part of the front on drawn scripts came to."""

    kind: str
    examples: int
    disagreement: FrontDisagreement | None = None


def diff_front(kind: str, examples: int, seed: int, real: RealFront) -> FrontReport:
    """Compares one part of the front on so many drawn scripts.

    `kind` is one of `grader.oracle.front.strategies.SCRIPTS`.
    """
    done = 0
    found: FrontDisagreement | None = None

    @draw_from(seed)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        report_multiple_bugs=False,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(SCRIPTS[kind])
    def agree(script: Script) -> None:
        nonlocal done, found
        theirs = real(kind, deepcopy(script))
        ours = run(kind, deepcopy(script), ReferenceFront())
        if ours != theirs:
            found = FrontDisagreement(script, ours, theirs)
            raise Differs
        done += found is None

    with suppress(Differs):
        agree()
    return FrontReport(kind, done, found)


class Differs(Exception):
    """Raised inside Hypothesis, so that it shrinks the script."""
