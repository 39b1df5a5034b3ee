"""A differential run shared out among processes."""

from collections import Counter
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.queues import SimpleQueue

from grader.oracle.differential import DiffReport, diff
from grader.oracle.session import real_engine

#: One job's news: which job, how many compared, whether it is shrinking, its report at the end.
News = tuple[int, int, bool, DiffReport | BaseException | None]

#: Keeps the seeds of the jobs of neighbouring runs apart.
SEEDS_APART = 1_000_003


def diff_in_jobs(
    examples: int, seed: int, jobs: int, progress: Callable[[int, bool], None]
) -> DiffReport:
    """Compare the engines on so many drawn workloads, in so many processes.

    Job 0 draws from `seed` itself, so that one job gives what `diff` gives. Raises
    `OracleMissing` and the worker's errors.
    """
    if jobs == 1:
        with real_engine() as real:
            return diff(examples, seed, real, progress=progress)
    context = get_context("spawn")
    news: SimpleQueue[News] = context.SimpleQueue()
    shares = [examples // jobs + (job < examples % jobs) for job in range(jobs)]
    processes = [
        context.Process(target=_job, args=(job, share, seed + job * SEEDS_APART, news))
        for job, share in enumerate(shares)
        if share
    ]
    for process in processes:
        process.start()
    try:
        return _gather(seed, len(processes), news, progress)
    finally:
        for process in processes:
            process.terminate()
            process.join()


def _job(job: int, examples: int, seed: int, news: "SimpleQueue[News]") -> None:
    try:
        with real_engine() as real:
            report = diff(
                examples,
                seed,
                real,
                progress=lambda done, shrinking: news.put((job, done, shrinking, None)),
            )
        news.put((job, report.examples, False, report))
    except BaseException as error:
        news.put((job, 0, False, error))


def _gather(
    seed: int, jobs: int, news: "SimpleQueue[News]", progress: Callable[[int, bool], None]
) -> DiffReport:
    """Wait for all jobs, or for the first disagreement."""
    done: Counter[int] = Counter()
    reports: list[DiffReport] = []
    while len(reports) < jobs:
        job, compared, shrinking, outcome = news.get()
        done[job] = compared
        progress(done.total(), shrinking)
        if isinstance(outcome, BaseException):
            raise outcome
        if outcome is not None:
            reports.append(outcome)
            if not outcome.agrees:
                break
    return DiffReport(
        seed,
        sum(report.examples for report in reports),
        sum(report.steps for report in reports),
        max(report.seconds for report in reports),
        sum((report.counts for report in reports), Counter()),
        next((report.disagreement for report in reports if not report.agrees), None),
    )
