"""Running trials: each in a process that keeps its lesson's grader warm, unless remembered."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import msgspec

from grader import cache as verdicts
from grader.files import write_atomically
from grader.lessons import Lesson
from grader.places import places
from grader.prove import adapter
from grader.prove.trials import Trial
from grader.runner.interpreter import OWN
from grader.runner.resident import Manner
from grader.runner.warm import WarmGrader
from grader.source import read_source
from grader.verdict import CheckResult, ExampleResult, Status, Verdict


class Outcome(msgspec.Struct, frozen=True):
    """What became of a trial: `failed` are the checks and examples that failed, in order.

    A trial that may fail ends at the first of them, unless it is to be run whole.
    """

    status: Status
    failed: list[str] = []
    passed: list[str] = []
    cause: str = ""


def try_all(
    trials: Sequence[Trial], fresh: bool, jobs: int, tell: Callable[[int, int], None]
) -> dict[Trial, Outcome]:
    """The outcome of each trial. `tell` hears how many of how many are done.

    Raises:
        Unreadable: a submission cannot be read.
    """
    keys = {trial: _key(trial) for trial in trials}
    found = {} if fresh else dict(_remembered(keys))
    left = [trial for trial in trials if trial not in found]
    tell(len(found), len(trials))
    if not left:
        return found
    with ProcessPoolExecutor(min(jobs, len(left)), get_context("spawn")) as pool:
        # What imports vLLM takes longest and is begun first.
        order = sorted(left, key=lambda trial: trial.kind != "real")
        futures = {pool.submit(run, trial): trial for trial in order}
        try:
            for future in as_completed(futures):
                trial = futures[future]
                found[trial] = future.result()
                _remember(trial, keys[trial], found[trial])
                tell(len(found), len(trials))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return found


def default_jobs() -> int:
    """One process for each core that this one may use."""
    return len(os.sched_getaffinity(0))


def run(trial: Trial) -> Outcome:
    """Run one trial here, on a grader that is kept for the next trial of its lesson."""
    if trial.kind == "real":
        return outcome_of(_run_real(trial))
    manner: Manner = "trial" if trial.whole else "first_failure"
    return outcome_of(_warm.of(trial.of).grade(Path(trial.submission), manner=manner))


def outcome_of(verdict: Verdict) -> Outcome:
    """What of a verdict a proof is about."""
    results: list[CheckResult | ExampleResult] = [*verdict.examples, *verdict.checks]
    failed = [one.name for one in results if one.outcome == "failed"]
    passed = [one.name for one in results if one.outcome == "passed"]
    cause = ""
    if verdict.error is not None:
        detail = getattr(verdict.error, "detail", "").strip().splitlines()
        cause = ": ".join([verdict.error.cause, *detail[-1:]])
    return Outcome(verdict.status, failed, passed, cause)


class _Warm:
    """The grader of the lesson that was graded last in this process."""

    def __init__(self) -> None:
        self._grader: WarmGrader | None = None

    def of(self, lesson: Lesson) -> WarmGrader:
        if self._grader is None or self._grader.lesson != lesson:
            if self._grader is not None:
                self._grader.close()
            self._grader = WarmGrader(lesson, OWN, jobs=1)
        return self._grader


_warm = _Warm()


def _run_real(trial: Trial) -> Verdict:
    found = adapter.adapter_of(trial.of)
    assert found is not None, "a trial of the real engine has an adapter"
    with WarmGrader(trial.of, found.interpreter(), jobs=1) as grader:
        return grader.grade(Path(trial.submission), manner="trial")


def _remembered(keys: dict[Trial, str]) -> Iterator[tuple[Trial, Outcome]]:
    for trial, key in keys.items():
        try:
            kept = msgspec.json.decode(_file(trial).read_bytes(), type=_Kept)
        except (OSError, msgspec.DecodeError):
            continue
        if kept.key == key:
            yield trial, kept.outcome


def _remember(trial: Trial, key: str, outcome: Outcome) -> None:
    if outcome.status != "grader_error":
        write_atomically(_file(trial), msgspec.json.encode(_Kept(key, outcome)))


class _Kept(msgspec.Struct):
    key: str
    outcome: Outcome


def _file(trial: Trial) -> Path:
    return places().state / "proofs" / trial.lesson / f"{trial.kind}.{trial.name}.json"


def _key(trial: Trial) -> str:
    digest = hashlib.sha256(verdicts.key(trial.of, read_source(Path(trial.submission))).encode())
    if trial.kind == "real":
        digest.update(_of_real())
    return digest.hexdigest()


@cache
def _of_real() -> bytes:
    return adapter.depends_on()
