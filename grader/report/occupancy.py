"""Who holds which block after each step, worked out from a trace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from reference.kv_cache_interface import FullAttentionSpec, KVCacheSpec
from reference.trace import StepRecord, Trace, by_group
from reference.workload import Workload

NULL_BLOCK_ID = 0


@dataclass(frozen=True, slots=True)
class Occupancy:
    """The pool after one step: the holders of each held block, and which blocks have a hash."""

    step: int
    holders: dict[int, tuple[str, ...]]
    hashed: frozenset[int]


@dataclass(slots=True)
class _Pool:
    specs: tuple[KVCacheSpec, ...]
    caching: bool
    tables: dict[str, list[list[int]]] = field(default_factory=dict)
    hashed: set[int] = field(default_factory=set)

    def apply(self, step: StepRecord, reset: bool) -> None:
        for request_id in (*step.finished_request_ids, *step.preempted_request_ids):
            self.tables.pop(request_id, None)
        if reset and not self.tables:
            self.hashed.clear()
        for request_id, blocks in step.block_ids.items():
            self.tables[request_id] = by_group(blocks)
            self._hand_out(self.tables[request_id], step.num_cached_tokens.get(request_id, 0))
        for request_id, num_computed in step.num_computed_tokens.items():
            self._let_go(self.tables[request_id], num_computed)
        for request_id, blocks in step.new_block_ids.items():
            tables = self.tables.setdefault(request_id, [[] for _ in self.specs])
            self._hand_out(by_group(blocks))
            for table, new_blocks in zip(tables, by_group(blocks), strict=True):
                table.extend(new_blocks)
        for request_id, scheduled in step.num_scheduled_tokens.items():
            computed = step.num_computed_tokens.get(request_id, 0) + scheduled
            self._name(self.tables[request_id], computed)
        # Whoever ended in this step, an abort while the model ran included, holds nothing more.
        self.tables = {name: self.tables[name] for name in step.running if name in self.tables}

    def _hand_out(self, tables: list[list[int]], num_hit_tokens: int = 0) -> None:
        for spec, table in zip(self.specs, tables, strict=True):
            self.hashed.difference_update(table[num_hit_tokens // spec.block_size :])

    def _let_go(self, tables: list[list[int]], num_computed_tokens: int) -> None:
        """What a group's attention reads no more was freed when the step was scheduled."""
        for spec, table in zip(self.specs, tables, strict=True):
            num_skipped = spec.get_num_skipped_tokens(num_computed_tokens) // spec.block_size
            table[:num_skipped] = [NULL_BLOCK_ID] * min(num_skipped, len(table))

    def _name(self, tables: list[list[int]], num_computed_tokens: int) -> None:
        # Which blocks of several groups stay findable does not follow from the trace alone.
        if self.caching and len(self.specs) == 1 and isinstance(self.specs[0], FullAttentionSpec):
            self.hashed.update(tables[0][: num_computed_tokens // self.specs[0].block_size])

    def now(self, step: int) -> Occupancy:
        holders: dict[int, tuple[str, ...]] = {}
        for request_id, tables in self.tables.items():
            for block in (block for table in tables for block in table if block != NULL_BLOCK_ID):
                holders[block] = (*holders.get(block, ()), request_id)
        return Occupancy(step, holders, frozenset(self.hashed))


def occupancy(workload: Workload, trace: Trace) -> Iterator[Occupancy]:
    """The pool after each step of the trace.

    A block has a hash from when it is full until it is handed out again. Where layers are grouped,
    hashes are not told.
    """
    engine = workload.engine
    specs = engine.kv_cache_groups or (FullAttentionSpec(engine.block_size),)
    pool = _Pool(specs, engine.enable_prefix_caching)
    for step in trace.steps:
        pool.apply(step, step.step in workload.reset_prefix_cache)
        yield pool.now(step.step)
