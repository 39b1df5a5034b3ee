"""The students' command: runs the examples in the exercises' docstrings. Standard library only."""

from __future__ import annotations

import argparse
import doctest
import importlib.util
import subprocess
import sys
from pathlib import Path

FOLDER = "exercises"
SECONDS = 60
_OPTIONS = doctest.FAIL_FAST | doctest.IGNORE_EXCEPTION_DETAIL


def main(arguments: list[str] | None = None) -> int:
    """Run the command; gives its exit code: 0 all examples pass, 1 not, 2 wrong use."""
    parser = argparse.ArgumentParser("vllmlings", description="Exercises on how vLLM works inside.")
    parts = parser.add_subparsers(dest="part", required=True)
    parts.add_parser("list", help="the lessons, and their files")
    examples = parts.add_parser("examples", help="run the examples in the docstrings")
    examples.add_argument("lessons", nargs="*", metavar="LESSON", help="a lesson's name; none: all")
    chosen = parser.parse_args(arguments)
    lessons = found(Path.cwd())
    if not lessons:
        print(f"There is no folder {FOLDER} here: go to where you unpacked it.", file=sys.stderr)
        return 2
    if chosen.part == "list":
        for name, file in lessons.items():
            print(f"{name}  {file}")
        return 0
    for name in chosen.lessons:
        if not any(_is_named(lesson, name) for lesson in lessons):
            print(f"{name}: no lesson has this name; see vllmlings list", file=sys.stderr)
            return 2
    names = [
        lesson
        for lesson in lessons
        if not chosen.lessons or any(_is_named(lesson, name) for name in chosen.lessons)
    ]
    return max([show_examples(name, lessons[name]) for name in names])


def found(folder: Path) -> dict[str, Path]:
    """The files of all lessons, by `topic/lesson`, from this folder or one around it."""
    for around in (folder, *folder.parents):
        files = sorted((around / FOLDER).glob("*/*.py"))
        if files:
            return {f"{file.parent.name}/{file.stem}": file for file in files}
    return {}


def show_examples(lesson: str, file: Path) -> int:
    """Run one lesson's examples in a process of its own; gives 0 if they all pass, or 1."""
    try:
        ran = subprocess.run(
            [sys.executable, __file__, str(file)],
            timeout=SECONDS,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        print(f"✗ {lesson}: not done after {SECONDS} seconds")
        return 1
    passed = ran.returncode == 0
    said = ran.stdout.strip().strip("*").strip()
    print(f"✓ {lesson}: {said}" if passed else f"✗ {lesson}\n{said}\n")
    return 0 if passed else 1


def run_examples(file: Path) -> int:
    """Load a file and run its examples in this process, up to the first that fails."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    runner = doctest.DocTestRunner(optionflags=_OPTIONS)
    tests = doctest.DocTestFinder().find(module)
    for test in sorted(tests, key=lambda test: test.lineno or 0):
        if runner.run(test).failed:
            return 1
    if not runner.tries:
        print("no examples are left in its docstrings; take them from the release again")
        return 1
    print(f"all {runner.tries} examples pass")
    return 0


def _is_named(lesson: str, name: str) -> bool:
    return name in (lesson, *lesson.split("/"))


if __name__ == "__main__":
    sys.exit(run_examples(Path(sys.argv[1])))
