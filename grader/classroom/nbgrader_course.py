"""An nbgrader course from the lessons: a topic is an assignment, a lesson a notebook.

Its `source` holds what a student may see and no more: text, stub, and for each check a locked
cell with its name and points. The suites stay where they are; `sealed_execute` asks them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from grader.classroom.checks import CheckHead, checks_of
from grader.classroom.handout import handout_stub, handout_text
from grader.classroom.notebook import solution_id
from grader.lessons import Lesson

_TASK = "## Your task"
_HERE = """\
In this notebook you fill in the cell below, in place of the file that the text names. The cell \
after it runs the examples in its docstrings.
"""
_EXAMPLES = """\
# Runs the examples in the docstrings above, up to the first that fails.
import doctest

import __main__

runner = doctest.DocTestRunner(
    optionflags=doctest.FAIL_FAST | doctest.IGNORE_EXCEPTION_DETAIL
)
for test in doctest.DocTestFinder().find(__main__):
    if runner.run(test).failed:
        break
else:
    print(f"All {runner.tries} examples pass.")
"""
_CHECKS = """\
## Checks

When you have handed in, each cell below shows what its check came to. The checks themselves run \
elsewhere: there is nothing to run here.
"""
_CONFIGURATION = '''\
"""nbgrader's configuration: the sealed grader takes the place of a kernel."""

from grader.classroom.sealed_execute import autograde_steps, release_steps

c = get_config()  # noqa: F821 (nbgrader gives it)

# What a student's notebook computes is nobody's business: its solution goes to the sealed grader.
c.Autograde.autograde_preprocessors = autograde_steps()
# How much of a check that failed the student is told: "none", "names" or "stories".
c.SealedExecute.detail = "names"
# "none" grades without a sandbox: a submission may then do whatever you may.
c.SealedExecute.sandbox = "bubblewrap"

# The notebooks in source/ hold stubs: there is no solution in them to be cleared away.
c.GenerateAssignment.preprocessors = release_steps()

# Should you put a lesson's .py beside its notebook: it never takes the place of a student's.
c.Autograde.exclude_overwriting = {
@FILES@
}
'''


def nbgrader_course(lessons: Sequence[Lesson]) -> dict[str, bytes]:
    """The files of a course of these lessons, by their path in its folder."""
    files = {"nbgrader_config.py": configuration(lessons).encode()}
    for lesson in lessons:
        files[f"source/{lesson.name}.ipynb"] = notebook_of(lesson)
    names = "".join(f"  - {lesson.name}\n" for lesson in lessons)
    files["classroom.yaml"] = f"lessons:\n{names}".encode()
    return files


def configuration(lessons: Sequence[Lesson]) -> str:
    """The text of `nbgrader_config.py`."""
    by_topic: dict[str, list[str]] = {}
    for lesson in lessons:
        topic, name = lesson.name.split("/")
        by_topic.setdefault(topic, []).append(f"{name}.py")
    lines = (f"    {json.dumps(topic)}: {json.dumps(own)}," for topic, own in by_topic.items())
    return _CONFIGURATION.replace("@FILES@", "\n".join(lines))


def notebook_of(lesson: Lesson) -> bytes:
    """The lesson's notebook as nbgrader's `source` has it."""
    numbers = count(1)
    cells = [{**cell, "id": f"cell-{next(numbers)}"} for cell in _cells(lesson)]
    python = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": python, "language_info": {"name": "python"}}
    whole = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return (json.dumps(whole, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode()


def _cells(lesson: Lesson) -> Iterator[dict[str, Any]]:
    for section in _sections(handout_text(lesson)):
        yield _markdown(section)
        if section.startswith(_TASK):
            yield _markdown(_HERE)
            yield _graded(handout_stub(lesson), solution_id(lesson.name), solution=True)
            yield _code(_EXAMPLES)
    yield _markdown(_CHECKS)
    for check in checks_of(lesson):
        yield _graded(_check_text(check), check.name, grade=True, points=check.points)


def _sections(text: str) -> list[str]:
    """The text cut before each of its headings, code left whole.

    >>> _sections("# A\\nx\\n## B\\n```\\n## no\\n```")
    ['# A\\nx\\n', '## B\\n```\\n## no\\n```']
    """
    sections: list[str] = []
    is_code = False
    for line in text.splitlines(keepends=True):
        is_code ^= line.lstrip().startswith("```")
        if not sections or (line.startswith("## ") and not is_code):
            sections.append("")
        sections[-1] += line
    return sections


def _check_text(check: CheckHead) -> str:
    points = "1 point" if check.points == 1 else f"{check.points} points"
    return f"# {check.name} ({points})\n# {check.title}"


def _markdown(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text.strip()}


def _code(text: str) -> dict[str, Any]:
    made = {"cell_type": "code", "metadata": {}, "source": text.strip()}
    return made | {"execution_count": None, "outputs": []}


def _graded(
    text: str, name: str, grade: bool = False, solution: bool = False, points: int | None = None
) -> dict[str, Any]:
    """A cell of nbgrader's; what it grades is locked."""
    own = {"grade": grade, "grade_id": name, "locked": grade, "solution": solution, "task": False}
    own |= {"schema_version": 3} | ({} if points is None else {"points": points})
    cell = _code(text)
    return cell | {"metadata": {"nbgrader": own}}
