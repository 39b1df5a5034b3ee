"""From tokens to text while they come: nothing is shown that a later token could change."""

from collections.abc import Iterable, Sequence
from typing import Protocol

#: How many tokens of the prompt stand before the first new one when it is decoded.
INITIAL_INCREMENTAL_DETOKENIZATION_OFFSET = 5
REPLACEMENT = "\ufffd"


class Decoder(Protocol):
    """What a detokenizer needs of a tokenizer."""

    @property
    def special_ids(self) -> frozenset[int]: ...
    def decode(self, token_ids: Iterable[int], skip_special_tokens: bool = True) -> str:
        """The text of tokens, bytes that are no text as U+FFFD."""


def check_stop_strings(
    output_text: str, new_char_count: int, stop: Sequence[str], include_in_output: bool
) -> tuple[str, int] | None:
    """The stop string that is complete first in the last ``new_char_count`` characters.

    Of two that end at the same place the first in ``stop`` is meant.

    Returns:
        The stop string and the length to cut the text to, -1 for not at all; None if there is
        none.

    >>> check_stop_strings("abcdef", 6, ["def", "cd"], include_in_output=False)
    ('cd', 2)
    """
    if not new_char_count:
        return None
    ends: list[tuple[int, int, str]] = []
    for place, text in enumerate(stop):
        start = output_text.find(text, 1 - new_char_count - len(text))
        if start >= 0:
            ends.append((start + len(text), place, text))
    if not ends:
        return None
    end, _, text = min(ends)
    if not include_in_output:
        return text, end - len(text)
    return text, -1 if end >= len(output_text) else end


class IncrementalDetokenizer:
    """The text of one request, and the search for its stop strings.

    ``prefix_offset`` and ``read_offset`` are places in the tokens that are kept, of which the
    last few of the prompt are the first. What stands before ``read_offset`` has been shown.
    Without a tokenizer there is no text, only tokens.

    >>> from reference.tokenizer import Tokenizer
    >>> tokenizer = Tokenizer([bytes([byte]) for byte in range(256)])
    >>> detokenizer = IncrementalDetokenizer(tokenizer, list(b"say: "), stop=["lo w"])
    >>> detokenizer.update(list(b"hello"), False), detokenizer.get_next_output_text(False, True)
    (None, 'he')
    >>> detokenizer.update(list(b" w"), False), detokenizer.output_text
    ('lo w', 'hel')
    """

    def __init__(
        self,
        tokenizer: Decoder | None,
        prompt_token_ids: Sequence[int],
        stop: Sequence[str] = (),
        min_tokens: int = 0,
        include_stop_str_in_output: bool = False,
        skip_special_tokens: bool = True,
    ) -> None:
        self.output_token_ids: list[int] = []
        self.output_text = ""
        self.stop = tuple(stop)
        self.min_tokens = min_tokens
        self.include_stop_str_in_output = include_stop_str_in_output
        self.skip_special_tokens = skip_special_tokens
        holds_back = self.stop and not include_stop_str_in_output
        self._stop_buffer_length = max(map(len, self.stop)) - 1 if holds_back else 0
        self._last_output_text_offset = 0
        self._tokenizer = tokenizer
        window = prompt_token_ids[-INITIAL_INCREMENTAL_DETOKENIZATION_OFFSET - 2 :]
        self._tokens = [token for token in window if not self._is_skipped(token)]
        self.read_offset = len(self._tokens)
        self.prefix_offset = max(self.read_offset - INITIAL_INCREMENTAL_DETOKENIZATION_OFFSET, 0)

    def num_output_tokens(self) -> int:
        """Tokens put out so far, those included that are not shown, or not yet."""
        return len(self.output_token_ids)

    def update(self, new_token_ids: Sequence[int], stop_terminated: bool) -> str | None:
        """Takes in the tokens of a step; the stop string that they complete, if any.

        ``stop_terminated`` says that the engine core has stopped at the last of them, which is
        not shown then.
        """
        if self._tokenizer is None:
            self.output_token_ids.extend(new_token_ids)
            return None
        is_last_hidden = stop_terminated and not self.include_stop_str_in_output
        last_shown = len(new_token_ids) - is_last_hidden
        searched_from = len(self.output_text)
        for token in new_token_ids[:last_shown]:
            self.output_token_ids.append(token)
            self.output_text += self._decode_next(token, self._tokenizer)
            if self.num_output_tokens() <= self.min_tokens:
                searched_from = len(self.output_text)
        self.output_token_ids.extend(new_token_ids[last_shown:])
        if not self.stop or self.num_output_tokens() <= self.min_tokens:
            return None
        new_char_count = len(self.output_text) - searched_from
        found = check_stop_strings(
            self.output_text, new_char_count, self.stop, self.include_stop_str_in_output
        )
        if found is None:
            return None
        stop_string, cut = found
        if cut != -1:
            self.output_text = self.output_text[:cut]
        return stop_string

    def get_next_output_text(self, finished: bool, delta: bool) -> str:
        """The text to show: all of it, or with ``delta`` what is new since the last call.

        As long as the request goes on, what may be the beginning of a stop string is kept back.
        """
        end = len(self.output_text) - (0 if finished else self._stop_buffer_length)
        if not delta:
            return self.output_text[: max(end, 0)]
        start = self._last_output_text_offset
        if start >= end:
            return ""
        self._last_output_text_offset = end
        return self.output_text[start:end]

    def _is_skipped(self, token: int) -> bool:
        tokenizer = self._tokenizer
        return self.skip_special_tokens and tokenizer is not None and token in tokenizer.special_ids

    def _decode_next(self, token: int, tokenizer: Decoder) -> str:
        """The text that one more token completes."""
        if not self._is_skipped(token):
            self._tokens.append(token)
        tokens, skip = self._tokens, self.skip_special_tokens
        shown = tokenizer.decode(tokens[self.prefix_offset : self.read_offset], skip)
        text = tokenizer.decode(tokens[self.prefix_offset :], skip)
        if len(text) <= len(shown) or text.endswith(REPLACEMENT):
            # A letter may have its last bytes still to come.
            return ""
        self.prefix_offset, self.read_offset = self.read_offset, len(tokens)
        return text[len(shown) :]
