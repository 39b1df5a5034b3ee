"""What runs a submission: a Python, what it imports ahead of time, and how much it may use."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from grader.worker import BareLauncher, Launcher, Limits, Worker
from grader.worker.host import PRELOAD


@dataclass(frozen=True)
class Interpreter:
    """A way to start workers. ``patience`` is what a call's deadline is multiplied by.

    >>> with Interpreter().start() as worker, worker.session() as session:
    ...     lesson = session.load("solutions/kv_cache/block_pool.py", "block_pool")
    ...     lesson.BlockPool(8).get_new_blocks(2)
    [1, 2]
    """

    python: str = sys.executable
    preload: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    environment: Mapping[str, str] = field(default_factory=dict)
    patience: float = 1.0
    launcher: Launcher = field(default_factory=BareLauncher)

    def start(self) -> Worker:
        """A worker of this kind, which starts at once."""
        preload = (*PRELOAD, *self.preload)
        return Worker(self.python, preload, self.limits, self.launcher, self.environment)


OWN = Interpreter()
