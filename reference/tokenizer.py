"""Text to tokens and back: a byte-level BPE, read from a file of the ``tokenizers`` library."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data" / "tokenizer.json"
END_OF_TEXT = "<|endoftext|>"


def byte_alphabet() -> dict[str, int]:
    """The sign that stands for each byte in the files of byte-level tokenizers.

    Bytes that print stand for themselves; the others are the signs from 256 on.

    >>> alphabet = byte_alphabet()
    >>> alphabet["A"], alphabet["Ġ"]
    (65, 32)
    """
    printing = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = [byte for byte in range(256) if byte not in printing]
    alphabet = {chr(byte): byte for byte in printing}
    return alphabet | {chr(256 + place): byte for place, byte in enumerate(others)}


class Tokenizer:
    """The pieces by their ids, and how they are put together.

    Args:
        pieces: the bytes of each token.
        special_ids: tokens that stand for no text, such as the end of a sequence.
        merges: for two neighbouring tokens the one that they make, the most urgent pair first.
        pattern: what cuts a text into the words that no token crosses.

    >>> tokenizer = Tokenizer([b"a", b"b", b"ab"], merges={(0, 1): 2})
    >>> tokenizer.encode("abba"), tokenizer.decode([2, 1, 0])
    ([2, 1, 0], 'abba')
    """

    def __init__(
        self,
        pieces: Sequence[bytes],
        special_ids: Collection[int] = (),
        merges: Mapping[tuple[int, int], int] | None = None,
        pattern: str = r"[^\n]+|\n+",
    ) -> None:
        self.pieces = tuple(pieces)
        self.special_ids = frozenset(special_ids)
        self._ids = {piece: token_id for token_id, piece in enumerate(self.pieces)}
        self._merges = dict(merges or {})
        self._ranks = {pair: rank for rank, pair in enumerate(self._merges)}
        self._words = re.compile(pattern)
        texts = sorted((self.text_of(i) for i in self.special_ids), key=len, reverse=True)
        self._specials = re.compile("|".join(map(re.escape, texts))) if texts else None

    def __len__(self) -> int:
        return len(self.pieces)

    @property
    def max_token_id(self) -> int:
        """The largest id."""
        return len(self.pieces) - 1

    @property
    def eos_token_id(self) -> int | None:
        """The token that ends a sequence, if there is one."""
        return self._ids.get(END_OF_TEXT.encode())

    def text_of(self, token_id: int) -> str:
        """What one token says alone; bytes that are no text show as U+FFFD."""
        return self.pieces[token_id].decode("utf-8", "replace")

    def encode(self, text: str) -> list[int]:
        """The tokens of a text. Special tokens are recognised wherever they are written out.

        Raises:
            KeyError: a byte of the text is no token.
        """
        token_ids: list[int] = []
        for part, is_special in self._parts(text):
            if is_special:
                token_ids.append(self._ids[part.encode()])
                continue
            for word in self._words.findall(part):
                token_ids += self._encode_word(word.encode())
        return token_ids

    def decode(self, token_ids: Iterable[int], skip_special_tokens: bool = True) -> str:
        """The text of tokens; ids that there are not say nothing.

        >>> Tokenizer([b"\\xc3", b"\\xa9"]).decode([0, 1, 7, 0])
        'é\ufffd'
        """
        pieces, specials = self.pieces, self.special_ids if skip_special_tokens else ()
        known = (i for i in token_ids if 0 <= i < len(pieces) and i not in specials)
        return b"".join(pieces[i] for i in known).decode("utf-8", "replace")

    def _parts(self, text: str) -> Iterator[tuple[str, bool]]:
        """The text cut at its special tokens, and whether each part is one."""
        start = 0
        for match in self._specials.finditer(text) if self._specials else ():
            yield text[start : match.start()], False
            yield match.group(), True
            start = match.end()
        yield text[start:], False

    def _encode_word(self, word: bytes) -> list[int]:
        """One word, from single bytes on; of all pairs the most urgent is merged first."""
        token_ids = [self._ids[word[i : i + 1]] for i in range(len(word))]
        ranks, never = self._ranks, len(self._ranks)
        while len(token_ids) > 1:
            pairs = list(pairwise(token_ids))
            best = min(range(len(pairs)), key=lambda place: ranks.get(pairs[place], never))
            if pairs[best] not in ranks:
                break
            token_ids[best : best + 2] = [self._merges[pairs[best]]]
        return token_ids


def read_tokenizer(data: Mapping[str, Any]) -> Tokenizer:
    """The tokenizer that a file of the ``tokenizers`` library describes.

    It takes byte-level BPE whose words are cut by one pattern; that is what this repo's file has.
    """
    alphabet = byte_alphabet()
    model, added = data["model"], data["added_tokens"]
    ids: dict[str, int] = model["vocab"]
    pieces = {i: bytes(alphabet[sign] for sign in text) for text, i in ids.items()}
    pieces |= {token["id"]: token["content"].encode() for token in added}
    merges = {(ids[left], ids[right]): ids[left + right] for left, right in model["merges"]}
    return Tokenizer(
        [pieces[i] for i in range(len(pieces))],
        {token["id"] for token in added if token["special"]},
        merges,
        data["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"],
    )


@cache
def default_tokenizer() -> Tokenizer:
    """The tokenizer of this repo: 1,000 tokens, learned from ``data/tokenizer.txt``.

    >>> tokenizer = default_tokenizer()
    >>> len(tokenizer), tokenizer.encode("the tokenizer")
    (1000, [83, 257, 821])
    >>> tokenizer.decode(tokenizer.encode("水 is water"))
    '水 is water'
    """
    return read_tokenizer(json.loads(DATA.read_text(encoding="utf-8")))
