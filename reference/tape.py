"""The model: a tape that reads what stands in the KV cache and says the hash of it.

Each slot of the cache keeps the token that was written there. The next token of a request is a
hash of its whole sequence as read back through its block table. So a wrong slot, a block given
away too early or a stale cache hit changes what is said, and nothing else does.
"""

import hashlib
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from reference.workload import mix64

UNWRITTEN = -1


@dataclass(frozen=True, slots=True)
class TapeInput:
    """One request's share of a step.

    Attributes:
        request_id: its name.
        token_ids: its tokens by position, drafts at the end.
        block_ids: its block table; a table for each group where layers are grouped.
        num_computed_tokens: tokens in the cache already.
        num_new_tokens: tokens to write now, from there on.
        num_drafts: how many of ``token_ids`` are drafts.
        forbidden_token_ids: tokens not to be said...
        num_restricted: ...in so many of the next outputs.
    """

    request_id: str
    token_ids: Sequence[int]
    block_ids: Sequence[Any]
    num_computed_tokens: int
    num_new_tokens: int
    num_drafts: int = 0
    forbidden_token_ids: frozenset[int] = frozenset()
    num_restricted: int = 0


class Tape:
    """A KV cache of blocks of ``block_size`` tokens, and the model that reads it.

    It knows nothing of requests between steps: all it keeps is what was written where.

    >>> tape = Tape(block_size=4, vocab_size=1000)
    >>> whole = tape.execute([TapeInput("a", [1, 2, 3], [5], 0, 3)])
    >>> tape.execute([TapeInput("b", [1, 2, 3], [9], 0, 2)])
    {'b': []}
    >>> tape.execute([TapeInput("b", [1, 2, 3], [9], 2, 1)])["b"] == whole["a"]
    True
    """

    def __init__(self, block_size: int, vocab_size: int) -> None:
        self.block_size = block_size
        self.vocab_size = vocab_size
        self._blocks: dict[int, list[int]] = {}

    def execute(self, batch: Iterable[TapeInput]) -> dict[str, list[int]]:
        """Runs one step: all requests write, then all read.

        Returns:
            The sampled tokens of each request; none for one whose tokens are not through yet.
            With drafts, those that the tape would have said itself, and one token more.
        """
        inputs = list(batch)
        for request in inputs:
            self._write(request)
        return {request.request_id: self._sample(request) for request in inputs}

    def draft(self, token_ids: Sequence[int], num_drafts: int) -> list[int]:
        """Guesses what comes after a sequence: right two times of three, and always the same.

        A guess after the tokens ``t`` is what the tape says to them, plus one where
        ``mix64(len(t) + t[-1])`` is a multiple of 3.
        """
        tokens = list(token_ids)
        for _ in range(num_drafts):
            token = self._next_token(self._seen(tokens), frozenset())
            if mix64(len(tokens) + tokens[-1]) % 3 == 0:
                token = (token + 1) % self.vocab_size
            tokens.append(token)
        return tokens[len(token_ids) :]

    def _seen(self, token_ids: list[int]) -> list[int]:
        """What the query of the last token reads, if everything is where it should be."""
        return token_ids

    def _write(self, request: TapeInput) -> None:
        first = request.num_computed_tokens
        for position in range(first, first + request.num_new_tokens):
            index, offset = divmod(position, self.block_size)
            block = request.block_ids[index]
            if block not in self._blocks:
                self._blocks[block] = [UNWRITTEN] * self.block_size
            self._blocks[block][offset] = request.token_ids[position]

    def _read(self, request: TapeInput, length: int) -> list[int]:
        """What the query of the last of ``length`` tokens reads."""
        empty = [UNWRITTEN] * self.block_size
        tokens: list[int] = []
        for block in request.block_ids[: -(-length // self.block_size)]:
            tokens += self._blocks.get(block, empty)
        return tokens[:length]

    def _sample(self, request: TapeInput) -> list[int]:
        end = request.num_computed_tokens + request.num_new_tokens
        if end < len(request.token_ids):
            return []
        sampled: list[int] = []
        for length in range(end - request.num_drafts, end + 1):
            restricted = len(sampled) < request.num_restricted
            forbidden = request.forbidden_token_ids if restricted else frozenset()
            sampled.append(self._next_token(self._read(request, length), forbidden))
            if length < end and sampled[-1] != request.token_ids[length]:
                break
        return sampled

    def _next_token(self, tokens: Sequence[int], forbidden: frozenset[int]) -> int:
        digest = hashlib.blake2b(array("q", tokens).tobytes(), digest_size=8).digest()
        token = int.from_bytes(digest, "little") % self.vocab_size
        while token in forbidden:
            token = (token + 1) % self.vocab_size
        return token
