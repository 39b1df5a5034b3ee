"""How long a class takes: stock `nbgrader autograde`, and `vllmlings classroom grade`.

    python benchmarks/classroom.py [--students 10] [--rounds 3] [LESSON ...]

The same notebooks go through both, in turn, and the medians count. *Stock* is nbgrader as it comes,
with a lesson's whole suite in the notebook's own test cells, one check a cell, as a teacher would
do without this grader. *Ours* is graded in the sandbox on two cores; beside it stand one core, and
two cores without the sandbox. Each submission is another one, right or with one mistake, so that
no verdict serves twice. Exits with 1 when a goal is missed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count, cycle
from pathlib import Path
from statistics import median

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

from grader.classroom.checks import checks_of
from grader.classroom.notebook import solution_id
from grader.lessons import ROOT, Lesson, find
from grader.prove.mutants import mutants_of

LESSONS = ("kv_cache/block_pool", "scheduler/token_budget")
STOCK_GOAL = 1 / 3
SECOND_CORE_GOAL = 1.7
SANDBOX_GOAL = 1.15
BIN = Path(sys.executable).parent

SET_UP = """\
import sys, types, importlib
sys.path.insert(0, {root!r})
from grader import checks, drawing
drawing.load()
suite = importlib.import_module("grader.suites.{module}")
lesson = types.ModuleType("submission")
lesson.__dict__.update(
    {{name: value for name, value in globals().items() if not name.startswith("_")}}
)
checks.begin_story()
"""


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("lessons", nargs="*", metavar="LESSON")
    arguments.add_argument("--students", type=int, default=10)
    arguments.add_argument("--rounds", type=int, default=3)
    given = arguments.parse_args()
    lessons = [find(name) for name in given.lessons or LESSONS]
    with tempfile.TemporaryDirectory() as folder:
        stock, ours = Path(folder, "stock"), Path(folder, "ours")
        lay_out(stock, ours, lessons, given.students)
        ways: dict[str, Callable[[], None]] = {
            "stock nbgrader": lambda: run_stock(stock),
            "ours": lambda: run_ours(ours, "--jobs", "2"),
            "ours, one core": lambda: run_ours(ours, "--jobs", "1"),
            "ours, no sandbox": lambda: run_ours(ours, "--jobs", "2", "--sandbox", "none"),
        }
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(given.rounds):
            for name, way in ways.items():
                begun = time.perf_counter()
                way()
                seconds[name].append(time.perf_counter() - begun)
    return report({name: median(each) for name, each in seconds.items()}, given.students, lessons)


def report(seconds: dict[str, float], students: int, lessons: list[Lesson]) -> int:
    print(f"{students * len(lessons)} notebooks: {', '.join(lesson.name for lesson in lessons)}")
    for name, each in seconds.items():
        print(f"{name:20}{each:8.1f} s")
    ours = seconds["ours"]
    figures = [
        ("ours ÷ stock", ours / seconds["stock nbgrader"], STOCK_GOAL, True),
        ("one core ÷ two", seconds["ours, one core"] / ours, SECOND_CORE_GOAL, False),
        ("sandbox ÷ none", ours / seconds["ours, no sandbox"], SANDBOX_GOAL, True),
    ]
    good = True
    for name, value, goal, at_most in figures:
        met = value <= goal if at_most else value >= goal
        good &= met
        words = "at most" if at_most else "at least"
        print(f"{name:20}{value:8.2f}   goal {words} {goal:.2f}   {'ok' if met else 'missed'}")
    return 0 if good else 1


def lay_out(stock: Path, ours: Path, lessons: list[Lesson], students: int) -> None:
    """One course folder for each grader, with the same submissions."""
    names = [f"student{number:02}" for number in range(students)]
    stock.mkdir()
    configuration = "c = get_config()\nc.CourseDirectory.course_id = 'bench'\n"
    (stock / "nbgrader_config.py").write_text(configuration)
    for lesson in lessons:
        file = f"{solution_id(lesson.name)}.ipynb"
        write(stock / "source" / "bench" / file, stock_notebook(lesson, ""))
        for name, source in zip(names, submissions(lesson), strict=False):
            handed_in = stock_notebook(lesson, source)
            write(stock / "submitted" / name / "bench" / file, handed_in)
            write(ours / "submitted" / name / f"{lesson.name}.ipynb", own_notebook(lesson, source))
    nbgrader(stock, "generate_assignment", "bench")


def submissions(lesson: Lesson) -> Iterator[str]:
    """Sources of which no two are equal, one in three of them with a mistake."""
    solution = lesson.solution.read_text(encoding="utf-8")
    wrong = cycle(mutant.applied_to(solution) for mutant in mutants_of(lesson))
    for number in count():
        source = next(wrong) if number % 3 == 2 else solution
        yield f"{source}\n# submission {number}\n"


def stock_notebook(lesson: Lesson, source: str) -> nbformat.NotebookNode:
    """The solution, and after it the suite, check by check."""
    module = lesson.name.replace("/", ".")
    cells = [
        cell(solution_id(lesson.name), source, solution=True),
        cell("set_up", SET_UP.format(root=str(ROOT), module=module), locked=True),
    ]
    for check in checks_of(lesson):
        code = f"suite.{check.name}(lesson)"
        cells.append(cell(check.name, code, locked=True, grade=True, points=check.points))
    return new_notebook(cells=cells, metadata=kernel())


def own_notebook(lesson: Lesson, source: str) -> nbformat.NotebookNode:
    cells = [cell(solution_id(lesson.name), source, solution=True)]
    return new_notebook(cells=cells, metadata=kernel())


def cell(
    name: str, source: str, solution: bool = False, locked: bool = False, grade: bool = False,
    points: int = 0,
) -> nbformat.NotebookNode:  # fmt: skip
    said = {"grade_id": name, "schema_version": 3, "task": False}
    said |= {"solution": solution, "locked": locked, "grade": grade}
    if grade:
        said["points"] = points
    return new_code_cell(source, metadata={"nbgrader": said})


def kernel() -> dict[str, object]:
    return {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}


def write(path: Path, notebook: nbformat.NotebookNode) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)


def run_stock(course: Path) -> None:
    shutil.rmtree(course / "autograded", ignore_errors=True)
    nbgrader(course, "autograde", "bench", "--force")
    graded = list((course / "autograded").rglob("*.ipynb"))
    submitted = list((course / "submitted").rglob("*.ipynb"))
    if len(graded) != len(submitted):
        raise SystemExit(f"nbgrader graded {len(graded)} of {len(submitted)} notebooks")


def run_ours(course: Path, *options: str) -> None:
    for made in (".vllmlings", "gradebook.db"):
        path = course / made
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    call(course, str(BIN / "vllmlings"), "classroom", "grade", str(course), *options)


def nbgrader(course: Path, *arguments: str) -> None:
    call(course, str(BIN / "nbgrader"), *arguments)


def call(folder: Path, *command: str) -> None:
    # nbgrader calls a command that is installed beside it by its bare name.
    environment = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")


if __name__ == "__main__":
    sys.exit(main())
