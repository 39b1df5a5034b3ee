"""Generic mutants of solutions: how many are killed, how many are equivalent, which survive.

    python benchmarks/mutation.py [--fresh] [LESSON...]

Exit code 1 where one survives, or an entry of equivalents is stale.
"""

from __future__ import annotations

import argparse
import sys

from grader.lessons import Lesson, find, names
from grader.prove.generic import GenericRun, SolutionRejected, equivalents_file, run_generic
from grader.prove.tried import default_jobs
from grader.report.waiting import waiting


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("lessons", nargs="*", metavar="LESSON")
    arguments.add_argument("--fresh", action="store_true", help="grade all of them anew")
    arguments.add_argument("--jobs", type=int, default=default_jobs())
    given = arguments.parse_args()
    lessons = [find(name) for name in given.lessons] or [Lesson(name) for name in names()]
    runs = []
    for lesson in lessons:
        try:
            with waiting(f"Mutating {lesson.name}") as progress:
                runs.append(run_generic(lesson, given.fresh, given.jobs, progress.advance))
        except SolutionRejected as error:
            sys.exit(str(error))
        tell(lesson, runs[-1])
    killed, equivalent = sum(r.killed for r in runs), sum(r.equivalent for r in runs)
    survived = sum(len(r.survived) for r in runs)
    print(f"killed {killed}, equivalent {equivalent}, survived {survived}")
    return 1 if any(r.survived or r.stale or r.broken for r in runs) else 0


def tell(lesson: Lesson, run: GenericRun) -> None:
    print(
        f"{run.lesson}: killed {run.killed}, equivalent {run.equivalent}, "
        f"survived {len(run.survived)}",
        flush=True,
    )
    solution = lesson.solution.relative_to(lesson.root)
    for change in run.survived:
        operator = change.operator.removeprefix("core/")
        print(f"  {solution}:{change.number}: {operator}, occurrence {change.occurrence}")
        print(f"    - {change.line}\n    + {change.mutated}")
    for change, cause in run.broken:
        print(f"  {solution}:{change.number}: {change.operator}: could not be graded: {cause}")
    file = equivalents_file(lesson).relative_to(lesson.root)
    for operator, line, occurrence in run.stale:
        print(
            f"  {file}: no survivor is {operator} at `{line}`, occurrence {occurrence}: remove it"
        )


if __name__ == "__main__":
    sys.exit(main())
