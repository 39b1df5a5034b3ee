"""Kinds of scenario: what is run, on the model here and on a release's own code.

A kind is two modules of its name. `grader.capstone.kinds.NAME` has

- `run(inputs: Data, side: Data, source: str) -> Outcome`: the model. `inputs` is what the scenario
  says, `side` what it says of `before` or `after`. Raises `reference.workload.WorkloadError` with
  `source` in it when they are not as they should be.
- `described(inputs: Data, source: str) -> str`: what a learner is to know besides the file itself,
  such as the tokens that the model will sample; "" for nothing.

`grader.capstone.real.NAME` has `run(inputs: dict, side: dict) -> dict`: the same facts from the
release that is on the path of the oracle's environment, where alone it is imported.
"""

from __future__ import annotations

import importlib
from typing import Protocol, cast

from grader.capstone.outcome import Data, Outcome

KINDS = (
    *("engine", "session", "load_balancer", "window", "pooling", "ngram_proposer", "bad_words"),
)


class Kind(Protocol):
    """A module of this package."""

    def run(self, inputs: Data, side: Data, source: str) -> Outcome: ...
    def described(self, inputs: Data, source: str) -> str: ...


def kind(name: str) -> Kind:
    """The kind of that name, one of KINDS."""
    return cast(Kind, importlib.import_module(f"grader.capstone.kinds.{name}"))
