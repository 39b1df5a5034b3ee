"""A differential run shared out among processes."""

from collections import Counter
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from queue import Empty
from typing import Any

from grader.oracle.differential import DiffReport, diff
from grader.oracle.environment import require_oracle
from grader.oracle.session import real_engine

#: Keeps the seeds of the jobs of neighbouring runs apart.
SEEDS_APART = 1_000_003
SECONDS_BETWEEN_LOOKS = 1.0


class JobFailed(Exception):
    """One of the processes could not go on; says why."""


def diff_in_jobs(
    examples: int, seed: int, jobs: int, progress: Callable[[int, bool], None]
) -> DiffReport:
    """Compare the engines on so many drawn workloads, in so many processes.

    Job 0 draws from `seed` itself, so that one job gives what `diff` gives. Raises
    `OracleMissing`, the worker's errors and `JobFailed`.
    """
    if jobs == 1:
        with real_engine() as real:
            return diff(examples, seed, real, progress=progress)
    require_oracle()
    context = get_context("spawn")
    news = context.Queue()
    shares = [examples // jobs + (job < examples % jobs) for job in range(jobs)]
    processes = [
        context.Process(target=_job, args=(job, share, seed + job * SEEDS_APART, news))
        for job, share in enumerate(shares)
        if share
    ]
    for process in processes:
        process.start()
    try:
        return merge(seed, _reports(processes, news, progress))
    finally:
        for process in processes:
            process.terminate()
            process.join()


def merge(seed: int, reports: Sequence[DiffReport]) -> DiffReport:
    """One report of what several jobs found: their sums, and the first disagreement.

    >>> merge(0, [DiffReport(0, 3, 9, 1.0), DiffReport(1_000_003, 2, 5, 2.0)]).examples
    5
    """
    return DiffReport(
        seed,
        sum(report.examples for report in reports),
        sum(report.steps for report in reports),
        max(report.seconds for report in reports),
        sum((report.counts for report in reports), Counter()),
        next((report.disagreement for report in reports if not report.agrees), None),
    )


def _job(job: int, examples: int, seed: int, news: Any) -> None:
    """Runs in a process of its own; puts (job, how many compared, shrinking, outcome)."""
    try:
        with real_engine() as real:
            report = diff(
                examples,
                seed,
                real,
                progress=lambda done, shrinking: news.put((job, done, shrinking, None)),
            )
        news.put((job, report.examples, False, report))
    except Exception as error:
        # As text: not every error survives the way to another process.
        news.put((job, 0, False, JobFailed(f"{type(error).__name__}: {error}")))


def _reports(
    processes: Sequence[BaseProcess], news: Any, progress: Callable[[int, bool], None]
) -> list[DiffReport]:
    """Wait for all jobs, or for the first disagreement."""
    done: Counter[int] = Counter()
    reports: dict[int, DiffReport] = {}
    while len(reports) < len(processes):
        try:
            job, compared, shrinking, outcome = news.get(timeout=SECONDS_BETWEEN_LOOKS)
        except Empty:
            for number, process in enumerate(processes):
                if number not in reports and process.exitcode:
                    raise JobFailed(f"a job ended with {process.exitcode}") from None
            continue
        done[job] = compared
        progress(done.total(), shrinking)
        if isinstance(outcome, JobFailed):
            raise outcome
        if outcome is not None:
            reports[job] = outcome
            if not outcome.agrees:
                break
    return list(reports.values())
