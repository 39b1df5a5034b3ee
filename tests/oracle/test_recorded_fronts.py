"""What vLLM's front made of scripts, as recorded, is what the reference engine's makes of them."""

import json
from pathlib import Path

import pytest

from grader.oracle.front.record import PIN, replay_front
from grader.oracle.front.strategies import SCRIPTS

FRONTS = Path(__file__).parents[1] / "traces" / "front"


@pytest.mark.parametrize("kind", sorted(SCRIPTS))
def test_the_reference_front_repeats_what_vllm_made(kind: str) -> None:
    assert replay_front(FRONTS / f"{kind}.json") == []


@pytest.mark.parametrize("kind", sorted(SCRIPTS))
def test_a_recording_is_of_this_release(kind: str) -> None:
    assert json.loads((FRONTS / f"{kind}.json").read_text())["pin"] == PIN
