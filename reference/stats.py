"""Counters of one step."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class PrefixCacheStats:
    """Prefix-cache lookups of the admissions since the last reading; queries and hits in tokens.

    Requests that come back from a preemption are counted apart, because what they find is mostly
    their own. ``reset`` tells that the cache was emptied.
    """

    reset: bool = False
    requests: int = 0
    queries: int = 0
    hits: int = 0
    preempted_requests: int = 0
    preempted_queries: int = 0
    preempted_hits: int = 0

    def record(self, num_tokens: int, num_hits: int, preempted: bool) -> None:
        """Counts one admission.

        >>> stats = PrefixCacheStats()
        >>> stats.record(num_tokens=12, num_hits=8, preempted=False)
        >>> stats.queries, stats.hits
        (12, 8)
        """
        if preempted:
            self.preempted_requests += 1
            self.preempted_queries += num_tokens
            self.preempted_hits += num_hits
        else:
            self.requests += 1
            self.queries += num_tokens
            self.hits += num_hits


@dataclass(slots=True)
class SchedulerStats:
    """The scheduler after a step: queue lengths, the share of blocks in use, cache counters."""

    num_running_reqs: int = 0
    num_waiting_reqs: int = 0
    num_skipped_waiting_reqs: int = 0
    kv_cache_usage: float = 0.0
    prefix_cache_stats: PrefixCacheStats = field(default_factory=PrefixCacheStats)
