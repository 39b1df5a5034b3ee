"""What a worker costs: its start, a session, a call. Run `python benchmarks/worker.py`.

Each is the best of several, as the machine may be busy with other things. Exits with 1 when a
goal is missed.
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from grader.worker import Lesson, Worker

SOURCE = "def add(a, b): return a + b\n"
ROUNDS = 10
CALLS = 2000
ALLOCATED = list(range(1, 33))


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lesson.py"
        path.write_text(SOURCE)
        rows = [
            ("start", _best(lambda: _start(path)) * 1e3, 150.0, "ms"),
            *_in_one_worker(path),
        ]
    print(f"{'':28}{'taken':>10}{'goal':>10}")
    for name, taken, goal, unit in rows:
        missed = "  missed" if taken > goal else ""
        print(f"{name:28}{taken:7.1f} {unit}{goal:7.0f} {unit}{missed}")
    return int(any(taken > goal for _, taken, goal, _ in rows))


def _in_one_worker(path: Path) -> list[tuple[str, float, float, str]]:
    with Worker() as worker:
        session = _best(lambda: _session(worker, path))
        with worker.session() as opened:
            lesson = opened.load(path, "lesson")
            scalars = _best(lambda: _calls(lesson, 1, 2))
            lists = _best(lambda: _calls(lesson, ALLOCATED, ALLOCATED))
    return [
        ("session", session * 1e3, 10.0, "ms"),
        ("round trip", scalars * 1e6, 60.0, "µs"),
        ("round trip with 64 numbers", lists * 1e6, 90.0, "µs"),
    ]


def _best(measure: Callable[[], float]) -> float:
    return min(measure() for _ in range(ROUNDS))


def _start(path: Path) -> float:
    """Seconds from nothing to a loaded lesson."""
    started = perf_counter()
    with Worker() as worker, worker.session() as session:
        session.load(path, "lesson")
        return perf_counter() - started


def _session(worker: Worker, path: Path) -> float:
    """Seconds for a fresh session with the lesson loaded, and its end."""
    started = perf_counter()
    with worker.session() as session:
        session.load(path, "lesson")
    return perf_counter() - started


def _calls(lesson: Lesson, a: object, b: object) -> float:
    """Seconds for one call."""
    started = perf_counter()
    for _ in range(CALLS):
        lesson.add(a, b)
    return (perf_counter() - started) / CALLS


if __name__ == "__main__":
    sys.exit(main())
