"""Who holds which block after each step, worked out from a trace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from reference.trace import StepRecord, Trace
from reference.workload import Workload


@dataclass(frozen=True, slots=True)
class Occupancy:
    """The pool after one step: the holders of each held block, and which blocks have a hash."""

    step: int
    holders: dict[int, tuple[str, ...]]
    hashed: frozenset[int]


@dataclass(slots=True)
class _Pool:
    block_size: int
    caching: bool
    tables: dict[str, list[int]] = field(default_factory=dict)
    hashed: set[int] = field(default_factory=set)

    def apply(self, step: StepRecord, reset: bool) -> None:
        for request_id in (*step.finished_request_ids, *step.preempted_request_ids):
            self.tables.pop(request_id, None)
        if reset and not self.tables:
            self.hashed.clear()
        for request_id, blocks in step.block_ids.items():
            hits = step.num_cached_tokens.get(request_id, 0) // self.block_size
            self._hand_out(blocks[hits:])
            self.tables[request_id] = list(blocks)
        for request_id, blocks in step.new_block_ids.items():
            self._hand_out(blocks)
            self.tables.setdefault(request_id, []).extend(blocks)
        for request_id, scheduled in step.num_scheduled_tokens.items():
            computed = step.num_computed_tokens.get(request_id, 0) + scheduled
            if self.caching:
                self.hashed.update(self.tables[request_id][: computed // self.block_size])
        # Whoever ended in this step, an abort while the model ran included, holds nothing more.
        self.tables = {name: self.tables[name] for name in step.running if name in self.tables}

    def _hand_out(self, blocks: list[int]) -> None:
        self.hashed.difference_update(blocks)

    def now(self, step: int) -> Occupancy:
        holders: dict[int, tuple[str, ...]] = {}
        for request_id, blocks in self.tables.items():
            for block in blocks:
                holders[block] = (*holders.get(block, ()), request_id)
        return Occupancy(step, holders, frozenset(self.hashed))


def occupancy(workload: Workload, trace: Trace) -> Iterator[Occupancy]:
    """The pool after each step of the trace.

    A block has a hash from when it is full until it is handed out again.
    """
    pool = _Pool(workload.engine.block_size, workload.engine.enable_prefix_caching)
    for step in trace.steps:
        pool.apply(step, step.step in workload.reset_prefix_cache)
        yield pool.now(step.step)
