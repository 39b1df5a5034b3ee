"""The tape of several groups: each reads so far back as its attention, and tells what is wrong."""

from typing import Any

import pytest
from engine_kit import run
from hypothesis import given
from hypothesis import strategies as st

from reference.hybrid_model_runner import HybridTape
from reference.kv_cache_interface import FullAttentionSpec, KVCacheSpec, SlidingWindowSpec
from reference.tape import Tape, TapeInput

PROMPT = [5, 6, 7, 8, 9, 10]
FULL, WINDOW = FullAttentionSpec(2), SlidingWindowSpec(2, 3)


def say(*steps: tuple[list[list[int]], int, int], specs: Any = (FULL, WINDOW)) -> list[int]:
    """What is said to the prompt after steps of (tables, computed, new) tokens."""
    tape = HybridTape(specs, vocab_size=10**9)
    said: list[int] = []
    for tables, num_computed, num_new in steps:
        said = tape.execute([TapeInput("a", PROMPT, tables, num_computed, num_new)])["a"]
    return said


RIGHT = say(([[1, 2, 3], [4, 5, 6]], 0, 6))


def test_one_group_of_full_attention_says_what_a_plain_tape_says() -> None:
    plain = Tape(2, 10**9).execute([TapeInput("a", PROMPT, [1, 2, 3], 0, 6)])["a"]
    assert say(([[1, 2, 3]], 0, 6), specs=(FULL,)) == plain


def test_chunks_and_blocks_do_not_matter() -> None:
    tables = [[9, 8, 7], [1, 2, 3]]
    assert say((tables, 0, 3), (tables, 3, 1), (tables, 4, 2)) == RIGHT


def test_a_block_that_is_let_go_in_time_does_not_matter() -> None:
    assert say(([[1, 2], [4, 5]], 0, 4), ([[1, 2, 3], [0, 5, 4]], 4, 2)) == RIGHT


def test_a_block_that_is_let_go_too_early_does() -> None:
    assert say(([[1, 2], [4, 5]], 0, 4), ([[1, 2, 3], [0, 0, 4]], 4, 2)) != RIGHT


def test_a_block_that_two_groups_share_is_told() -> None:
    assert say(([[1, 2, 3], [4, 5, 3]], 0, 3), ([[1, 2, 3], [4, 5, 2]], 3, 3)) != RIGHT


def test_a_gap_in_the_middle_of_a_prompt_spoils_its_end() -> None:
    """The last token's own window is right, but not that of the token before it."""
    tables = [[1, 2, 3], [4, 5, 6]]
    gap = [[1, 2, 3], [4, 0, 6]]
    assert say((tables, 0, 3), (gap, 4, 1), (tables, 5, 1), specs=(WINDOW, WINDOW)) != say(
        (tables, 0, 6), specs=(WINDOW, WINDOW)
    )


LAYOUTS: list[list[dict[str, Any]]] = [
    [{"kind": "full_attention"}, {"kind": "sliding_window", "sliding_window": 5}],
    [
        {"kind": "sliding_window", "block_size": 2, "sliding_window": 3},
        {"kind": "chunked_local_attention", "attention_chunk_size": 8},
    ],
]


@pytest.mark.parametrize("groups", LAYOUTS)
@given(
    budget=st.integers(4, 40),
    caching=st.booleans(),
    interval=st.sampled_from([None, 0, 8]),
    num_gpu_blocks=st.integers(24, 60),
)
def test_outputs_depend_on_nothing_but_the_prompts(
    groups: list[dict[str, Any]],
    budget: int,
    caching: bool,
    interval: int | None,
    num_gpu_blocks: int,
) -> None:
    requests = [
        {"id": "a", "prompt": {"length": 21, "seed": 1}, "max_tokens": 9},
        {"id": "b", "prompt": {"length": 21, "seed": 1}, "max_tokens": 9, "arrival": 3},
        {"id": "c", "prompt": {"length": 13, "seed": 1}, "max_tokens": 9, "arrival": 4},
    ]
    engine = {
        "block_size": 4,
        "kv_cache_groups": groups,
        "max_num_seqs": 4,
        "max_model_len": 40,
    }
    varied = {
        "max_num_batched_tokens": budget,
        "enable_prefix_caching": caching,
        "prefix_cache_retention_interval": interval,
        "num_gpu_blocks": num_gpu_blocks,
    }
    usual = run(requests, engine=engine | {"num_gpu_blocks": 99})
    assert run(requests, engine=engine | varied).outputs == usual.outputs


def test_specs_are_read_in_the_order_of_the_tables() -> None:
    specs: tuple[KVCacheSpec, ...] = (WINDOW, FULL)
    assert say(([[4, 5, 6], [1, 2, 3]], 0, 6), specs=specs) != RIGHT
