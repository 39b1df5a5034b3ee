"""The model that reads the cache: what must change its outputs, and what must not."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.tape import Tape, TapeInput

PROMPT = [5, 6, 7, 8, 9, 10]


def make_tape() -> Tape:
    return Tape(block_size=4, vocab_size=10**9)


def whole(tape: Tape, blocks: list[int]) -> list[int]:
    """What the tape says to the prompt, written at once."""
    return tape.execute([TapeInput("a", PROMPT, blocks, 0, 6)])["a"]


@given(st.permutations(range(10)), st.integers(1, 5))
def test_neither_blocks_nor_chunks_nor_company_matter(blocks: list[int], cut: int) -> None:
    tape = make_tape()
    first = TapeInput("a", PROMPT, blocks[:2], 0, cut)
    other = TapeInput("b", [1, 2, 3], blocks[2:3], 0, 3)
    assert tape.execute([first, other])["a"] == []
    rest = replace(first, num_computed_tokens=cut, num_new_tokens=6 - cut)
    assert tape.execute([rest])["a"] == whole(make_tape(), [0, 1])


def test_a_wrong_slot_changes_the_output() -> None:
    tape = make_tape()
    tape.execute([TapeInput("a", PROMPT, [1, 2], 0, 5)])
    wrong = tape.execute([TapeInput("a", PROMPT, [1, 3], 5, 1)])["a"]
    assert wrong != whole(make_tape(), [1, 2])


def test_a_block_given_away_too_early_changes_the_output() -> None:
    tape = make_tape()
    tape.execute([TapeInput("a", PROMPT, [1, 2], 0, 5)])
    tape.execute([TapeInput("thief", [0], [1], 0, 1)])
    assert tape.execute([TapeInput("a", PROMPT, [1, 2], 5, 1)])["a"] != whole(make_tape(), [1, 2])


def test_a_stale_hit_changes_the_output() -> None:
    tape = make_tape()
    tape.execute([TapeInput("other", [5, 6, 7, 0], [1], 0, 4)])
    stale = tape.execute([TapeInput("a", PROMPT, [1, 2], 4, 2)])["a"]
    assert stale != whole(make_tape(), [1, 2])


def test_a_true_hit_does_not_even_in_the_step_that_writes_it() -> None:
    tape = make_tape()
    writer = TapeInput("w", PROMPT[:4], [1], 0, 4)
    reader = TapeInput("a", PROMPT, [1, 2], 4, 2)
    assert tape.execute([reader, writer])["a"] == whole(make_tape(), [1, 2])


def test_an_unwritten_slot_changes_the_output() -> None:
    tape = make_tape()
    assert tape.execute([TapeInput("a", PROMPT, [1, 2], 4, 2)])["a"] != whole(make_tape(), [1, 2])


def follow(count: int) -> list[int]:
    """The first outputs, one a step."""
    tape, tokens = make_tape(), list(PROMPT)
    for _ in range(count):
        tokens += tape.execute([TapeInput("a", tokens, [1, 2, 3], 0, len(tokens))])["a"]
    return tokens[len(PROMPT) :]


@pytest.mark.parametrize("right", [0, 1, 2, 3])
def test_drafts_are_believed_as_far_as_the_tape_agrees(right: int) -> None:
    said = follow(4)
    drafts = said[:right] + [0] * (3 - right)
    tokens = PROMPT + drafts
    sampled = make_tape().execute([TapeInput("a", tokens, [1, 2, 3], 0, 9, num_drafts=3)])["a"]
    assert sampled == said[: right + 1]


def test_forbidden_tokens_are_not_said_while_that_lasts() -> None:
    tape = Tape(block_size=4, vocab_size=4)
    said = {
        tape.execute(
            [TapeInput("a", [n], [1], 0, 1, 0, frozenset({0, 1, 2}), num_restricted=restricted)]
        )["a"][0]
        for n in range(20)
        for restricted in [1]
    }
    assert said == {3}
    free = [
        tape.execute([TapeInput("a", [n], [1], 0, 1, 0, frozenset({3}))])["a"] for n in range(20)
    ]
    assert [3] in free
