"""Nothing is shown that a later token could change."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from reference.detokenizer import IncrementalDetokenizer, check_stop_strings
from reference.tokenizer import Tokenizer

BYTES = Tokenizer([bytes([byte]) for byte in range(256)] + [b"<s>"], special_ids={256})
STREAM = st.lists(st.sampled_from(list("aé水😀 ".encode())), min_size=1, max_size=24)


def cut(stream: list[int], places: list[int]) -> list[list[int]]:
    return [stream[a:b] for a, b in pairwise([0, *sorted(places), len(stream)])]


def longest_clean_prefix(stream: list[int]) -> str:
    """The model: the longest prefix that does not end in an unfinished letter."""
    texts = [bytes(stream[:end]).decode("utf-8", "replace") for end in range(len(stream), -1, -1)]
    return next(text for text in texts if not text.endswith("\ufffd"))


@given(STREAM, st.lists(st.integers(0, 24), max_size=5))
def test_the_text_is_the_longest_that_ends_with_a_whole_letter(
    stream: list[int], places: list[int]
) -> None:
    detokenizer = IncrementalDetokenizer(BYTES, list(b"prompt "))
    for chunk in cut(stream, [min(place, len(stream)) for place in places]):
        detokenizer.update(chunk, False)
    assert detokenizer.output_text == longest_clean_prefix(stream)
    assert detokenizer.num_output_tokens() == len(stream)


@given(st.text("abc", max_size=14), st.lists(st.integers(0, 14), max_size=5), st.integers(0, 6))
def test_it_does_not_matter_how_the_tokens_come(text: str, places: list[int], least: int) -> None:
    found = []
    for chunks in (cut(list(text.encode()), [min(p, len(text)) for p in places]), [*text]):
        detokenizer = IncrementalDetokenizer(BYTES, [97], stop=["ca", "abc"], min_tokens=least)
        stop = None
        for chunk in chunks:
            stop = detokenizer.update(
                list(chunk.encode()) if isinstance(chunk, str) else chunk, False
            )
            if stop:
                break
        found.append((stop, detokenizer.output_text))
    assert found[0] == found[1]


@given(STREAM, st.integers(1, 4))
def test_deltas_add_up(stream: list[int], size: int) -> None:
    detokenizer = IncrementalDetokenizer(BYTES, [97], stop=["never"])
    shown = ""
    for start in range(0, len(stream), size):
        detokenizer.update(stream[start : start + size], False)
        shown += detokenizer.get_next_output_text(False, True)
        assert shown == detokenizer.get_next_output_text(False, False)
    assert shown + detokenizer.get_next_output_text(True, True) == detokenizer.output_text


def test_the_offsets_follow_what_was_shown() -> None:
    detokenizer = IncrementalDetokenizer(BYTES, list(b"0123456789"))
    offsets = [(detokenizer.prefix_offset, detokenizer.read_offset)]
    for byte in "x😀".encode():
        detokenizer.update([byte], False)
        offsets.append((detokenizer.prefix_offset, detokenizer.read_offset))
    assert offsets == [(2, 7), (7, 8), (7, 8), (7, 8), (7, 8), (8, 12)]


def test_the_stop_string_that_is_complete_first_wins() -> None:
    assert check_stop_strings("abcdef", 6, ["def", "cd"], False) == ("cd", 2)
    assert check_stop_strings("abcd", 1, ["bcd", "cd"], True) == ("bcd", -1)
    assert check_stop_strings("ab ab", 2, ["ab"], True) == ("ab", -1)
    assert check_stop_strings("abx", 1, ["ab"], False) is None


def test_a_stop_token_counts_and_is_not_shown() -> None:
    detokenizer = IncrementalDetokenizer(BYTES, [97])
    detokenizer.update(list(b"hi!"), True)
    assert (detokenizer.output_text, detokenizer.num_output_tokens()) == ("hi", 3)


def test_special_tokens_are_skipped_unless_they_are_wanted() -> None:
    for skip, text in ((True, "ab"), (False, "a<s>b")):
        detokenizer = IncrementalDetokenizer(BYTES, [97], skip_special_tokens=skip)
        detokenizer.update([97, 256, 98], False)
        assert detokenizer.output_text == text


def test_without_a_tokenizer_there_are_only_tokens() -> None:
    detokenizer = IncrementalDetokenizer(None, [97])
    assert detokenizer.update([1, 2], False) is None
    assert (detokenizer.output_text, detokenizer.output_token_ids) == ("", [1, 2])
