"""Drawing what is in flight between a step and the next: outputs, drafts, and what overtakes them.

Added to workloads that were drawn without.
"""

from typing import Any

from hypothesis import strategies as st


@st.composite
def with_outputs_in_flight(draw: st.DrawFn, workload: dict[str, Any]) -> dict[str, Any]:
    """The workload under async scheduling, with drafts, or with both."""
    engine = dict(workload["engine"])
    both, drafts_alone = draw(st.tuples(_chance(50), _chance(25)))
    if both or not drafts_alone:
        engine["async_scheduling"] = True
    if both or drafts_alone:
        engine["num_speculative_tokens"] = draw(st.integers(1, 4))
        _mend_threshold(engine)
    if draw(_chance(25)):
        steps = st.lists(st.integers(0, 25), min_size=1, max_size=4, unique=True).map(sorted)
        workload = workload | {"reset_running_requests": draw(steps)}
    return workload | {"engine": engine}


def _chance(percent: int) -> st.SearchStrategy[bool]:
    return st.integers(0, 99).map(lambda drawn: drawn >= 100 - percent)


def _mend_threshold(engine: dict[str, Any]) -> None:
    """A step's tokens are never capped below those of a decode with all its drafts."""
    shortest = engine["num_speculative_tokens"] + 1
    if 0 < engine.get("long_prefill_token_threshold", 0) < shortest:
        engine["long_prefill_token_threshold"] = shortest
        if shortest > engine["max_model_len"]:
            del engine["long_prefill_token_threshold"]
