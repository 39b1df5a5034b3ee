"""Text to tokens and back."""

from hypothesis import given
from hypothesis import strategies as st

from reference.tokenizer import Tokenizer, byte_alphabet, default_tokenizer

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@given(TEXTS)
def test_every_text_comes_back_as_it_was(text: str) -> None:
    tokenizer = default_tokenizer()
    assert tokenizer.decode(tokenizer.encode(text), skip_special_tokens=False) == text


@given(st.lists(st.integers(-5, 1010), max_size=12))
def test_no_tokens_break_decoding(token_ids: list[int]) -> None:
    assert isinstance(default_tokenizer().decode(token_ids), str)


def test_special_tokens_are_one_token_and_say_nothing() -> None:
    tokenizer = default_tokenizer()
    written = tokenizer.encode("a<|endoftext|>b")
    assert written[1] == tokenizer.eos_token_id == tokenizer.max_token_id == 999
    assert tokenizer.decode(written) == "ab"


def test_the_most_urgent_pair_is_merged_first() -> None:
    pieces = [b"a", b"b", b"c", b"bc", b"ab"]
    assert Tokenizer(pieces, merges={(1, 2): 3, (0, 1): 4}).encode("abc") == [0, 3]
    assert Tokenizer(pieces, merges={(0, 1): 4, (1, 2): 3}).encode("abc") == [4, 2]


def test_each_byte_has_one_sign() -> None:
    assert sorted(byte_alphabet().values()) == list(range(256))
