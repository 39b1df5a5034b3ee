"""The solution in a notebook: the cells that a student fills in, as one module.

They are those that nbgrader's metadata calls a solution. Where a notebook has none (it was not
made from a release), every code cell counts that is no test.
"""

from __future__ import annotations

import ast
import codecs
import re

import msgspec

_MAGIC = re.compile(r"^(\s*)([%!?].*|[\w.]+\?{1,2}\s*)$")


class NotebookError(Exception):
    """A notebook that no solution can be read from."""

    def __init__(self, cause: str, fix: str) -> None:
        super().__init__(cause)
        self.cause, self.fix = cause, fix


class _Nbgrader(msgspec.Struct):
    grade_id: str = ""
    grade: bool = False
    solution: bool = False


class _Metadata(msgspec.Struct):
    nbgrader: _Nbgrader = msgspec.field(default_factory=_Nbgrader)


class _Cell(msgspec.Struct):
    cell_type: str
    source: str | list[str] = ""
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)

    @property
    def name(self) -> str:
        return self.metadata.nbgrader.grade_id

    @property
    def module_text(self) -> str:
        text = self.source if isinstance(self.source, str) else "".join(self.source)
        return f"{without_magics(text)}\n"


class _Notebook(msgspec.Struct):
    """The little of a notebook that is read; the rest is never made into objects."""

    cells: list[_Cell]


def solution_of(content: bytes, lesson: str) -> bytes:
    """The source of the lesson's module in a notebook.

    Raises:
        NotebookError: it is no notebook, two of its cells have one name, or it has no code.

    >>> solution_of(b'{"cells": [{"cell_type": "code", "source": ["!ls\\\\n", "x = 1"]}]}', "a/b")
    b'# !ls\\nx = 1\\n'
    """
    cells = _cells(content)
    code = [cell for cell in cells if cell.cell_type == "code"]
    solutions = [cell for cell in code if _is_solution(cell, lesson)]
    chosen = solutions or [cell for cell in code if not cell.metadata.nbgrader.grade]
    if not chosen:
        raise NotebookError("it has no code cell", "put the solution into its cell")
    return "\n\n".join(cell.module_text for cell in chosen).encode()


def solution_id(lesson: str) -> str:
    """The name (`grade_id`) of the lesson's solution cell.

    >>> solution_id("kv_cache/block_pool")
    'block_pool'
    """
    return lesson.rsplit("/", maxsplit=1)[-1]


def without_magics(source: str) -> str:
    """The source with the lines that are IPython's own commented out: line numbers stay.

    >>> without_magics("%time\\nx = 1")
    '# %time\\nx = 1'
    >>> without_magics("x = (5\\n  % 3)")
    'x = (5\\n  % 3)'
    """
    lines = source.split("\n")
    if not any(_MAGIC.match(line) for line in lines) or _is_python(source):
        return source
    return "\n".join(_MAGIC.sub(r"\1# \2", line) for line in lines)


def _cells(content: bytes) -> list[_Cell]:
    again = "save the notebook again, and hand that file in"
    try:
        content = content.removeprefix(codecs.BOM_UTF8)
        cells = msgspec.json.decode(content, type=_Notebook).cells
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NotebookError(f"it is no whole notebook: {error}", again) from None
    names = [cell.name for cell in cells if cell.name]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        cause = f"several cells have the name {', '.join(twice)}"
        raise NotebookError(cause, "remove the copies; a copied cell keeps nbgrader's name")
    return cells


def _is_solution(cell: _Cell, lesson: str) -> bool:
    wanted = solution_id(lesson)
    is_lessons = cell.name == wanted or cell.name.startswith(f"{wanted}.")
    return cell.metadata.nbgrader.solution and is_lessons


def _is_python(source: str) -> bool:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
