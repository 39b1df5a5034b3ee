"""How long grading takes, beside the same suite run bare, and from a save to the verdict.

    python benchmarks/grading.py [LESSON ...]

For each written lesson, with its solution as the submission: *bare* is the suite in pytest on the
plainly imported solution; *graded* is `vllmlings grade --fresh`; *watched* is from the moment an
exercise is saved to its verdict in a watching process. The three run in turn, and the medians
count. Exits with 1 when a goal is missed.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from grader.lessons import Lesson, find
from grader.runner import WarmGrader
from grader.watching import Events, Saved
from manifest.course import load

GRADED_GOAL = 1.5
WATCHED_GOAL = 0.7
BARE_GOAL = 2.0
ROUNDS = 7


@dataclass(frozen=True)
class Times:
    """Seconds for one lesson."""

    bare: float
    graded: float
    watched: float

    @property
    def good(self) -> bool:
        return (
            self.bare <= BARE_GOAL
            and self.graded <= GRADED_GOAL * self.bare
            and self.watched <= WATCHED_GOAL * self.bare
        )

    def __str__(self) -> str:
        graded, watched = self.graded / self.bare, self.watched / self.bare
        return (
            f"{self.bare:7.2f} s{self.graded:9.2f} s{self.watched:9.2f} s"
            f"{graded:10.2f}{watched:11.2f}   {'ok' if self.good else 'missed'}"
        )


def main(chosen: list[str]) -> int:
    lessons = [find(name) for name in chosen or [lesson.path for lesson in load().written]]
    print(f"{'lesson':34}{'bare':>9}{'graded':>11}{'watched':>11}{'÷ bare':>10}{'÷ bare':>11}")
    goals = f"<= {BARE_GOAL:g} s", f"<= {GRADED_GOAL:g}", f"<= {WATCHED_GOAL:g}"
    print(f"{'goal':34}{goals[0]:>9}{'':22}{goals[1]:>10}{goals[2]:>11}")
    missed = 0
    for lesson in lessons:
        times = measured(lesson)
        missed += not times.good
        print(f"{lesson.name:34}{times}", flush=True)
    return 1 if missed or not lessons else 0


def measured(lesson: Lesson) -> Times:
    with tempfile.TemporaryDirectory() as folder:
        exercise = Path(folder, "exercises", lesson.solution.name)
        exercise.parent.mkdir()
        shutil.copy(lesson.solution, exercise)
        with watching(lesson, exercise) as save:
            rounds = [(bare(lesson), graded(lesson, folder), save()) for _ in range(ROUNDS + 1)]
    # The first round writes what Python compiles.
    return Times(*(median(column) for column in zip(*rounds[1:], strict=True)))


def bare(lesson: Lesson) -> float:
    plugins = ["-p", "no:cacheprovider", "-p", "grader.bare"]
    return seconds([sys.executable, "-m", "pytest", *plugins, str(lesson.suite)])


def graded(lesson: Lesson, home: str) -> float:
    vllmlings = [sys.executable, "-c", "from grader.cli import main; main()"]
    words = ["grade", lesson.name, "--fresh", "--submission", str(lesson.solution)]
    return seconds([*vllmlings, *words], VLLMLINGS_HOME=home)


def seconds(command: list[str], **environment: str) -> float:
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **environment}
    started = time.perf_counter()
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    elapsed = time.perf_counter() - started
    if ran.returncode:
        raise SystemExit(
            f"{' '.join(command)}\nended with {ran.returncode}\n{ran.stdout}{ran.stderr}"
        )
    return elapsed


@contextmanager
def watching(lesson: Lesson, exercise: Path) -> Iterator[Callable[[], float]]:
    """Gives a function that saves the exercise and tells how long its verdict takes."""
    events = Events(exercise, keyboard=None)
    with WarmGrader(lesson) as warm:
        saves = (event for event in events if isinstance(event, Saved))

        def save() -> float:
            started = time.perf_counter()
            with exercise.open("a") as file:
                file.write("# saved\n")
            next(saves)
            verdict = warm.grade(exercise)
            elapsed = time.perf_counter() - started
            if verdict.status != "passed":
                failed = [check.name for check in verdict.checks if check.outcome != "passed"]
                told = verdict.error or ", ".join(failed)
                raise SystemExit(f"{lesson.name}: the solution is {verdict.status}: {told}")
            return elapsed

        time.sleep(1)  # the grader must be warm
        yield save


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
