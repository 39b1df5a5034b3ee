"""Which cores there are, and staying on one.

A seat and its worker take turns, one call after another. On one core an answer comes three times
as soon as from another core, which would have to be woken each time.
"""

import contextlib
import os


def cores() -> list[int]:
    """The cores that this process may use; where the system does not say, all."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def stay_on(core: int, *pids: int) -> None:
    """Keep processes, and what they start from now on, on a core, where the system can do that."""
    if hasattr(os, "sched_setaffinity"):
        for pid in pids:
            # The core or the process may be gone in the meantime; it is a matter of speed alone.
            with contextlib.suppress(OSError):
                os.sched_setaffinity(pid, {core})
