"""Runs a lesson's suite on a submission and gives the verdict.

    from grader.runner import grade

    grade("kv_cache/block_pool", Path("exercises/kv_cache/block_pool.py")).status

The suite runs in a forked process that pytest collects it in (``resident``, ``suite``). That one
checks that the submission loads (``loading``) and forks a few more (``dispatch``, ``seat``), which
do the examples and checks (``tasks``) each with a worker of its own, and keep the smallest
failing case of each (``search``, ``failures``).
"""

from grader.runner.warm import WarmGrader, grade

__all__ = ["WarmGrader", "grade"]
