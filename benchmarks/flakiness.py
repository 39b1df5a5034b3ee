"""Whether a solution's verdict is the same however often it is graded, with the machine busy.

    python benchmarks/flakiness.py [--times 50] [LESSON...]

Each grading is a process of its own with another PYTHONHASHSEED, for the suite's process and for
the submission's; twice as many run at once as there are cores. Exit code 1 where verdicts differ.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from grader.lessons import Lesson, find, names

LONGEST = 300


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("lessons", nargs="*", metavar="LESSON")
    arguments.add_argument("--times", type=int, default=50)
    arguments.add_argument("--one", metavar="HASH_SEED", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    lessons = [find(name) for name in given.lessons] or [Lesson(name) for name in names()]
    if given.one is not None:
        print(outcome(lessons[0], given.one))
        return 0
    differing = 0
    with ThreadPoolExecutor(2 * len(os.sched_getaffinity(0))) as pool:
        for lesson in lessons:
            runs = [pool.submit(in_own_process, lesson, seed) for seed in range(given.times)]
            counted = Counter(run.result() for run in runs)
            differing += len(counted) > 1
            first, times = counted.most_common(1)[0]
            print(f"{lesson.name}: {times} of {given.times} equal: {first}", flush=True)
            for other, seldom in counted.most_common()[1:]:
                print(f"  {seldom} of {given.times}: {other}")
    print(f"{len(lessons) - differing} of {len(lessons)} lessons are steady")
    return 1 if differing else 0


def in_own_process(lesson: Lesson, seed: int) -> str:
    """The outcome of one grading in a process with that hash seed."""
    command = [sys.executable, __file__, "--one", str(seed), lesson.name]
    environment = os.environ | {"PYTHONHASHSEED": str(seed)}
    ran = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=LONGEST, check=False
    )
    return ran.stdout.strip() or f"the grading failed: {ran.stderr.strip()[-200:]}"


def outcome(lesson: Lesson, seed: str) -> str:
    """Status and points, and whatever did not pass."""
    from grader.runner import grade
    from grader.runner.interpreter import Interpreter

    interpreter = Interpreter(environment={"PYTHONHASHSEED": seed})
    verdict = grade(lesson, Path(lesson.solution), interpreter, fresh=True)
    results = [*verdict.examples, *verdict.checks]
    other = [f"{one.name} {one.outcome}" for one in results if one.outcome != "passed"]
    return ", ".join([f"{verdict.status} {verdict.points}/{verdict.max_points}", *other])


if __name__ == "__main__":
    sys.exit(main())
