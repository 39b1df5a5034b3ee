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
    num_tokens: dict[str, int] = field(default_factory=dict)

    def schedule(self, step: StepRecord, reset: bool, in_flight: dict[str, int]) -> None:
        """What a step's decisions change, with so many tokens of each request in flight."""
        for request_id in (*step.finished_request_ids, *step.preempted_request_ids):
            self.tables.pop(request_id, None)
        if reset and not self.tables:
            self.hashed.clear()
        for request_id, blocks in step.block_ids.items():
            self.tables[request_id] = by_group(blocks)
            self._hand_out(self.tables[request_id], step.num_cached_tokens.get(request_id, 0))
        for request_id, num_computed in step.num_computed_tokens.items():
            settled = max(0, num_computed - in_flight.get(request_id, 0))
            self._let_go(self.tables[request_id], settled)
        for request_id, blocks in step.new_block_ids.items():
            tables = self.tables.setdefault(request_id, [[] for _ in self.specs])
            self._hand_out(by_group(blocks))
            for table, new_blocks in zip(tables, by_group(blocks), strict=True):
                table.extend(new_blocks)
        for request_id, scheduled in step.num_scheduled_tokens.items():
            computed = step.num_computed_tokens.get(request_id, 0) + scheduled
            # Drafts, and outputs that are still to come, have no hash.
            self._name(request_id, min(computed, self.num_tokens[request_id]))

    def update(self, step: StepRecord, are_named: bool) -> None:
        """What its outputs change; `are_named` tells whether they give blocks a hash."""
        for request_id, tokens in step.sampled_token_ids.items():
            self.num_tokens[request_id] += len(tokens)
            if are_named and request_id in self.tables:
                # The last token is not computed yet.
                self._name(request_id, self.num_tokens[request_id] - 1)
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

    def _name(self, request_id: str, num_tokens: int) -> None:
        # Which blocks of several groups stay findable does not follow from the trace alone.
        if self.caching and len(self.specs) == 1 and isinstance(self.specs[0], FullAttentionSpec):
            table = self.tables[request_id][0]
            self.hashed.update(table[: num_tokens // self.specs[0].block_size])

    def now(self, step: int) -> Occupancy:
        holders: dict[int, tuple[str, ...]] = {}
        for request_id, tables in self.tables.items():
            for block in (block for table in tables for block in table if block != NULL_BLOCK_ID):
                holders[block] = (*holders.get(block, ()), request_id)
        return Occupancy(step, holders, frozenset(self.hashed))


def occupancy(workload: Workload, trace: Trace) -> Iterator[Occupancy]:
    """The pool after each step of the trace.

    A block has a hash from when it is full until it is handed out again. Where layers are grouped,
    hashes are not told. Under async scheduling the next step has been scheduled by then.
    """
    engine = workload.engine
    specs = engine.kv_cache_groups or (FullAttentionSpec(engine.block_size),)
    prompts = {request.id: len(request.prompt_token_ids) for request in workload.requests}
    pool = _Pool(specs, engine.enable_prefix_caching, num_tokens=prompts)
    resets = {*workload.reset_prefix_cache, *workload.reset_running_requests}
    num_scheduled = 0
    for step, following in zip(trace.steps, [*trace.steps[1:], None], strict=False):
        ahead = following if engine.async_scheduling else None
        for each in (step, ahead):
            if each and each.step == num_scheduled and (each is step or _is_ahead(each, step)):
                in_flight = {} if each is step else step.num_scheduled_tokens
                pool.schedule(each, each.step in resets, in_flight)
                num_scheduled += 1
        pool.update(step, engine.async_scheduling)
        yield pool.now(step.step)


def _is_ahead(following: StepRecord, step: StepRecord) -> bool:
    """Whether a step was scheduled before the one before it came back: there was work to do."""
    return bool(
        step.num_scheduled_tokens or step.running or step.waiting or following.finished_request_ids
    )
