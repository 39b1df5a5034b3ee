"""The model and its inputs where layers are grouped: each group reads through its own table."""

from collections.abc import Iterable, Sequence

from reference.kv_cache_interface import KVCacheSpec
from reference.model_runner import ModelRunner
from reference.output import SchedulerOutput
from reference.tape import UNWRITTEN, Tape, TapeInput
from reference.trace import by_group


class HybridTape(Tape):
    """A tape that every group of ``specs`` reads as far back as its attention looks.

    The groups share the blocks. A token whose query finds another token, or none, where its
    sequence should be is spoilt, and all that is said after it.

    >>> from reference.kv_cache_interface import SlidingWindowSpec
    >>> tape = HybridTape([SlidingWindowSpec(2, 2)], vocab_size=1000)
    >>> said = tape.execute([TapeInput("a", [1, 2, 3], [[5, 6]], 0, 3)])["a"]
    >>> said == tape.execute([TapeInput("b", [9, 2, 3], [[7, 8]], 0, 3)])["b"]
    True
    """

    def __init__(self, specs: Sequence[KVCacheSpec], vocab_size: int) -> None:
        super().__init__(max(spec.block_size for spec in specs), vocab_size)
        self._specs = specs

    def execute(self, batch: Iterable[TapeInput]) -> dict[str, list[int]]:
        inputs = list(batch)
        for request in inputs:
            self._write(request)
        for request in inputs:
            self._spoil(request)
        return {request.request_id: self._sample(request) for request in inputs}

    def _write(self, request: TapeInput) -> None:
        first = request.num_computed_tokens
        end = first + request.num_new_tokens
        self._put(request, first, request.token_ids[first:end])

    def _put(self, request: TapeInput, first: int, tokens: Sequence[int]) -> None:
        for spec, table in zip(self._specs, request.block_ids, strict=True):
            for position, token in enumerate(tokens, first):
                index, offset = divmod(position, spec.block_size)
                slots = self._blocks.setdefault(table[index], [UNWRITTEN] * self.block_size)
                slots[offset] = token

    def _spoil(self, request: TapeInput) -> None:
        first = request.num_computed_tokens
        end = first + request.num_new_tokens
        for group, spec in enumerate(self._specs):
            oldest = spec.get_num_skipped_tokens(first)
            if self._slots(request, group, oldest, end) != list(request.token_ids[oldest:end]):
                self._put(request, first, [UNWRITTEN] * request.num_new_tokens)
                return

    def _read(self, request: TapeInput, length: int) -> list[int]:
        tokens: list[int] = []
        for group, spec in enumerate(self._specs):
            oldest = spec.get_num_skipped_tokens(length - 1)
            tokens += self._slots(request, group, oldest, length)
        return tokens

    def _seen(self, token_ids: list[int]) -> list[int]:
        oldest = (spec.get_num_skipped_tokens(len(token_ids) - 1) for spec in self._specs)
        return [token for first in oldest for token in token_ids[first:]]

    def _slots(self, request: TapeInput, group: int, start: int, end: int) -> list[int]:
        """What stands at some positions in a group's blocks."""
        empty = [UNWRITTEN] * self.block_size
        block_size, table = self._specs[group].block_size, request.block_ids[group]
        tokens: list[int] = []
        for index in range(start // block_size, -(-end // block_size)):
            tokens += self._blocks.get(table[index], empty)[:block_size]
        skipped = start - start % block_size
        return tokens[start - skipped : end - skipped]


class HybridModelRunner(ModelRunner):
    """Keeps a block table for each group of each request.

    Blocks that a group has let go stay in it: they are not read.
    """

    def _update_block_tables(self, output: SchedulerOutput) -> None:
        for request_id in output.finished_req_ids | output.preempted_req_ids:
            self._block_tables.pop(request_id, None)
        for request_id, block_ids in output.block_ids.items():
            self._block_tables[request_id] = by_group(block_ids)
        for request_id, block_ids in output.new_block_ids.items():
            tables = self._block_tables[request_id]
            for table, new_blocks in zip(tables, by_group(block_ids), strict=True):
                table.extend(new_blocks)
