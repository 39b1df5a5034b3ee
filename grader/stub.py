"""Cutting a stub from a solution: what a learner starts from is never edited by hand.

Each region between ``### BEGIN SOLUTION <hint>`` and ``### END SOLUTION`` becomes one statement,
``raise NotImplementedError("<Qualified.name>: <hint>")``; everything else is kept as it stands.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.files import write_atomically
from grader.lessons import ROOT, Lesson, names
from grader.source import Source, Unreadable, read_source

BEGIN = "### BEGIN SOLUTION"
END = "### END SOLUTION"
WIDTH = 100


class StubError(Exception):
    """A solution that no stub can be cut from; ``line`` counts from 1."""

    def __init__(self, filename: str, line: int, problem: str) -> None:
        super().__init__(f"{filename}:{line}: {problem}")
        self.filename, self.line, self.problem = filename, line, problem


@dataclass(frozen=True)
class _Region:
    first: int
    last: int
    indent: str
    hint: str


def cut(solution: str, filename: str) -> str:
    """The stub of a solution.

    Raises:
        StubError: a marker without its partner, inside another region, without a hint or
            outside a function; or the solution is no Python.

    >>> print(cut('''def double(x):
    ...     ### BEGIN SOLUTION add it to itself
    ...     return x + x
    ...     ### END SOLUTION
    ... ''', "double.py"), end="")
    def double(x):
        raise NotImplementedError("double: add it to itself")
    """
    lines = solution.split("\n")
    functions = _functions(solution, filename)
    kept: list[str] = []
    done = 0
    for region in _regions(lines, filename):
        kept += lines[done : region.first - 1]
        kept += _statement(region, _enclosing(functions, region, filename))
        done = region.last
    return "\n".join(kept + lines[done:])


def regions(solution: str, filename: str) -> list[tuple[int, int]]:
    """The lines of each pair of marks in a solution, counted from 1.

    Raises:
        StubError: as `cut` does.

    >>> regions("def f():\\n    ### BEGIN SOLUTION one\\n    ### END SOLUTION", "f.py")
    [(2, 3)]
    """
    return [(region.first, region.last) for region in _regions(solution.split("\n"), filename)]


def _regions(lines: list[str], filename: str) -> Iterator[_Region]:
    begun: _Region | None = None
    for number, line in enumerate(lines, start=1):
        marker = line.strip()
        if marker.startswith(BEGIN):
            if begun:
                problem = f"this region begins inside the one of line {begun.first}"
                raise StubError(filename, number, f"{problem}; end that one first")
            hint = marker.removeprefix(BEGIN).strip()
            if not hint:
                problem = f"the region has no hint; write one after `{BEGIN}`"
                raise StubError(filename, number, problem)
            begun = _Region(number, number, line[: len(line) - len(line.lstrip())], hint)
        elif marker.startswith(END):
            if begun is None:
                raise StubError(filename, number, f"`{END}` without a `{BEGIN}` before it")
            yield _Region(begun.first, number, begun.indent, begun.hint)
            begun = None
    if begun:
        raise StubError(filename, begun.first, f"the region is never ended; add `{END}`")


def _functions(solution: str, filename: str) -> list[tuple[int, int, str]]:
    """First line, last line and qualified name of each function, outer ones first."""
    try:
        tree = ast.parse(solution)
    except SyntaxError as error:
        raise StubError(filename, error.lineno or 1, f"not Python: {error.msg}") from error
    found: list[tuple[int, int, str]] = []

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{prefix}{child.name}"
                if not isinstance(child, ast.ClassDef):
                    found.append((child.lineno, child.end_lineno or child.lineno, name))
                visit(child, f"{name}.")
            else:
                visit(child, prefix)

    visit(tree, "")
    return found


def _enclosing(functions: list[tuple[int, int, str]], region: _Region, filename: str) -> str:
    around = [name for first, last, name in functions if first < region.first <= last]
    if not around:
        raise StubError(filename, region.first, "a region stands inside a function, this one not")
    return around[-1]


def _statement(region: _Region, name: str) -> list[str]:
    message = f"{name}: {region.hint}".replace("\\", "\\\\").replace('"', '\\"')
    line = f'{region.indent}raise NotImplementedError("{message}")'
    if len(line) <= WIDTH:
        return [line]
    return [
        f"{region.indent}raise NotImplementedError(",
        f'{region.indent}    "{message}"',
        f"{region.indent})",
    ]


def stub_of(lesson: Lesson) -> str:
    """The stub that the lesson's solution cuts to."""
    path = lesson.solution
    return cut(path.read_text(encoding="utf-8"), str(path.relative_to(lesson.root)))


def differing(root: Path = ROOT) -> list[Lesson]:
    """The lessons whose stub is missing or not what the solution cuts to."""
    lessons = [Lesson(name, root) for name in names(root)]
    return [lesson for lesson in lessons if not is_stub(lesson, lesson.stub)]


def is_stub(lesson: Lesson, submission: Path) -> bool:
    """Whether a file is the lesson's untouched stub, whatever its line ends."""
    try:
        return is_stub_source(lesson, read_source(submission))
    except Unreadable:
        return False


def is_stub_source(lesson: Lesson, submission: Source) -> bool:
    """The same of a file that was read before."""
    # In bytes: what is no text is surely no stub, and is told of later, in its place.
    return submission.content.replace(b"\r\n", b"\n") == stub_of(lesson).encode()


def write_all(root: Path = ROOT) -> list[Path]:
    """Write the stubs that differ and give their paths."""
    written = []
    for lesson in differing(root):
        write_atomically(lesson.stub, stub_of(lesson))
        written.append(lesson.stub)
    return written
