"""A real nbgrader course of two lessons, and students who hand in notebooks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.classroom.notebook import solution_id
from grader.lessons import Lesson
from grader.stub import stub_of

TOPIC = "kv_cache"
LESSONS = ("kv_cache/block_pool", "kv_cache/memory_to_blocks")
BIN = Path(sys.executable).parent
_BODY = re.compile(r"raise NotImplementedError\((?:\n.*?\n\s*|[^\n]*)\)$", re.MULTILINE)

SOLUTION = Lesson(LESSONS[0]).solution.read_text(encoding="utf-8")
STUB = stub_of(Lesson(LESSONS[0]))
#: Begun, and wrong everywhere; no line of it is a solution's.
WRONG = _BODY.sub("return None", STUB)
#: Right, but for the null block, so it earns a part of the points.
PARTLY = SOLUTION.replace("self.num_gpu_blocks - 1", "self.num_gpu_blocks")
WARNS = SOLUTION + "\nimport sys, warnings\nwarnings.warn('old')\nprint('loud', file=sys.stderr)\n"


@dataclass(frozen=True)
class NotebookClass:
    """The course's folder, and nbgrader in it."""

    folder: Path

    def nbgrader(self, *arguments: str, fails: bool = False) -> str:
        """Run a real `nbgrader` command; gives all that it printed."""
        ran = subprocess.run(
            [BIN / "nbgrader", *arguments],
            cwd=self.folder,
            env=environment(self.folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        assert (ran.returncode != 0) is fails, ran.stdout
        return ran.stdout

    def released(self, lesson: str) -> dict[str, Any]:
        return read(self.folder / "release" / f"{lesson}.ipynb")

    def autograded(self, student: str, lesson: str) -> dict[str, Any]:
        return read(self.folder / "autograded" / student / f"{lesson}.ipynb")

    def feedback(self, student: str, lesson: str) -> str:
        return (self.folder / "feedback" / student / f"{lesson}.html").read_text(encoding="utf-8")

    def hand_in(self, student: str, lesson: str, solution: str) -> Path:
        """Put the released notebook, with this in its solution cell, where nbgrader collects."""
        notebook = self.released(lesson)
        cell_named(notebook, solution_id(lesson))["source"] = solution
        path = self.folder / "submitted" / student / f"{lesson}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(notebook), encoding="utf-8")
        return path


def make_notebook_class(folder: Path) -> NotebookClass:
    """The course as `vllmlings classroom init` makes it, with its assignment generated."""
    chosen = [word for lesson in LESSONS for word in ("--lesson", lesson)]
    subprocess.run([BIN / "vllmlings", "classroom", "init", folder, *chosen], check=True)
    made = NotebookClass(folder)
    made.nbgrader("generate_assignment", TOPIC)
    return made


def environment(folder: Path) -> dict[str, str]:
    """Jupyter's own files away from the home of whoever runs the tests."""
    home = folder.parent / "jupyter"
    return {
        **os.environ,
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "IPYTHONDIR": str(home / "ipython"),
    }


def read(path: Path) -> dict[str, Any]:
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def text_of(cell: dict[str, Any]) -> str:
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)


def all_text(notebook: dict[str, Any]) -> str:
    """All that a notebook shows: cells and their outputs."""
    shown = [text_of(cell) for cell in notebook["cells"]]
    for cell in notebook["cells"]:
        shown += ["".join(output.get("text", "")) for output in cell.get("outputs", [])]
    return "\n".join(shown)


def cell_named(notebook: dict[str, Any], name: str) -> dict[str, Any]:
    return next(c for c in notebook["cells"] if nbgrader_of(c).get("grade_id") == name)


def nbgrader_of(cell: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = cell["metadata"].get("nbgrader", {})
    return found


def check_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if nbgrader_of(cell).get("grade")]
