"""Grading on a real Dask cluster on loopback: a scheduler and two workers."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from class_kit import LESSON, POINTS, hand_in
from test_local import mark, wait_until_gone

from grader.classroom.course import Course
from grader.classroom.grading import grade_class
from grader.classroom.journal import open_journal
from grader.classroom.on_dask import ClusterLost, DaskExecutor
from grader.classroom.submissions import collect

__all__ = ["mark"]
ROOT = Path(__file__).parents[2]


@dataclass
class Cluster:
    address: str
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]]


def start(stack: ExitStack, log: Path, part: str, *arguments: str) -> subprocess.Popen[bytes]:
    """A process of the cluster that ends with the stack."""
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{part}", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            cwd=ROOT,
        )
    stack.callback(process.wait)
    stack.callback(process.kill)
    return process


@pytest.fixture
def cluster(tmp_path: Path, mark: str) -> Iterator[Cluster]:
    file = tmp_path / "scheduler.json"
    host = ["--host", "127.0.0.1", "--no-dashboard"]
    with ExitStack() as stack:
        options = [*host, "--port", "0", "--scheduler-file", str(file)]
        scheduler = start(stack, tmp_path / "scheduler.log", "scheduler", *options)
        until = time.monotonic() + 60
        while not file.exists() or not file.read_text().strip():
            assert scheduler.poll() is None, (tmp_path / "scheduler.log").read_text()
            assert time.monotonic() < until
            time.sleep(0.05)
        address = json.loads(file.read_text())["address"]
        options = [*host, "--nthreads", "1", "--no-nanny", "--local-directory", str(tmp_path)]
        workers = [
            start(stack, tmp_path / f"worker{number}.log", "worker", address, *options)
            for number in range(2)
        ]
        yield Cluster(address, scheduler, workers)
    assert wait_until_gone(mark) == []


def wait_for_workers(executor: DaskExecutor, number: int) -> None:
    executor._client.wait_for_workers(number, timeout=60)


def test_the_cluster_grades_and_a_lost_worker_costs_nothing(
    course: Course, cluster: Cluster
) -> None:
    for number in range(20):
        source = list(POINTS)[number % len(POINTS)]
        hand_in(course, f"s{number:02}", f"# {number}\n{source}")
    collected = collect(course.submitted, course.lessons)
    found = {}
    with open_journal(course.journal) as journal, DaskExecutor(cluster.address) as executor:
        wait_for_workers(executor, 2)
        for each in grade_class(course, collected, executor, journal, sandbox="none"):
            found[each.entry.student] = each.entry.verdict
            if len(found) == 8:
                cluster.workers[0].kill()
    expected = [list(POINTS.values())[number % len(POINTS)] for number in range(20)]
    assert [found[student].points for student in sorted(found)] == expected
    assert cluster.workers[0].poll() is not None


def test_a_cluster_that_goes_away_is_said_and_what_it_graded_is_kept(
    course: Course, cluster: Cluster
) -> None:
    for number in range(6):
        hand_in(course, f"s{number}", f"# {number}\n{next(iter(POINTS))}")
    collected = collect(course.submitted, course.lessons)
    with open_journal(course.journal) as journal, DaskExecutor(cluster.address) as executor:
        wait_for_workers(executor, 1)
        grading = grade_class(course, collected, executor, journal, sandbox="none")
        told = next(grading).entry.student
        cluster.scheduler.kill()
        with pytest.raises(ClusterLost, match="run the same command again"):
            list(grading)
        assert journal.latest(told, LESSON)


def test_no_cluster_at_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    from grader.classroom import on_dask

    monkeypatch.setattr(on_dask, "_CONNECT_SECONDS", 1)
    with pytest.raises(ClusterLost, match=r"tcp://127\.0\.0\.1:1"):
        DaskExecutor("tcp://127.0.0.1:1")
