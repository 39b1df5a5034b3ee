"""What is read of a folder of submissions; each bad one costs one entry, never the run."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from class_kit import HALF, LESSON, RIGHT, cell, hand_in, notebook

from grader.classroom.course import Course
from grader.classroom.submissions import Submission, collect
from grader.worker.limits import MIB

SOLUTION_CELL = cell(RIGHT, "counter", solution=True)


def only(course: Course) -> Submission:
    (found,) = collect(course.submitted, course.lessons)
    return found


def test_files_and_notebooks_in_any_mix(course: Course) -> None:
    hand_in(course, "ada", RIGHT)
    hand_in(course, "Grace Hopper", notebook(SOLUTION_CELL), ".ipynb")
    found = {each.student: each.source for each in collect(course.submitted, course.lessons)}
    assert found == {"ada": RIGHT.encode(), "Grace Hopper": RIGHT.encode() + b"\n"}


def test_all_of_one_lesson_come_together(tmp_path: Path) -> None:
    for student in "ab":
        for lesson in ("t/one", "t/two"):
            path = tmp_path / student / f"{lesson}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")
    collected = collect(tmp_path, ("t/two", "t/one"))
    order = [(each.lesson, each.student) for each in collected]
    assert order == [("t/two", "a"), ("t/two", "b"), ("t/one", "a"), ("t/one", "b")]
    assert len(collected) == 4


def a_link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def a_link_to_a_good_file(path: Path) -> None:
    other = path.with_name("other.txt")
    other.write_text(RIGHT)
    path.symlink_to(other)


def a_folder(path: Path) -> None:
    path.mkdir()


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        descriptor = os.open(path.parent, os.O_RDONLY)
        try:
            server.bind(f"/proc/self/fd/{descriptor}/{path.name}")
        finally:
            os.close(descriptor)


def fifty_megabytes(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(50 * MIB)


def latin_1(path: Path) -> None:
    path.write_bytes("name = 'Zoë'".encode("latin-1"))


BAD_FILES: dict[Callable[[Path], None], str] = {
    a_link: "link",
    a_link_to_a_good_file: "link",
    a_folder: "no_file",
    a_pipe: "no_file",
    a_socket: "no_file",
    fifty_megabytes: "too_large",
    latin_1: "encoding",
}


@pytest.mark.parametrize("make", BAD_FILES, ids=lambda make: make.__name__)
@pytest.mark.parametrize("suffix", [".py", ".ipynb"])
def test_a_bad_file_is_one_problem(
    course: Course, make: Callable[[Path], None], suffix: str
) -> None:
    path = hand_in(course, "ada", "", suffix)
    path.unlink()
    make(path)
    problem = only(course).problem
    assert problem is not None
    assert problem.kind == (
        "notebook" if (make, suffix) == (latin_1, ".ipynb") else BAD_FILES[make]
    )
    assert problem.cause
    assert problem.fix


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make a device")
def test_a_device_is_not_read(course: Course) -> None:
    path = hand_in(course, "ada", "")
    path.unlink()
    try:
        os.mknod(path, 0o020666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("this container's root may make no device")
    problem = only(course).problem
    assert problem is not None
    assert problem.kind in ("no_file", "unreadable")


def test_an_unreadable_file(course: Course) -> None:
    path = hand_in(course, "ada", RIGHT)
    path.chmod(0)
    if os.geteuid() == 0:
        for folder in [path.parent, *path.parents]:
            if str(folder).startswith("/tmp/"):
                folder.chmod(0o755)
        os.seteuid(65534)
    try:
        problem = only(course).problem
    finally:
        if os.getuid() == 0:
            os.seteuid(0)
    assert problem is not None
    assert problem.kind == "unreadable"
    assert "Permission denied" in problem.cause


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (notebook(SOLUTION_CELL)[:-200], "no whole notebook"),
        ("", "no whole notebook"),
        ("[]", "no whole notebook"),
        ('{"cells": 5}', "no whole notebook"),
        ('{"cells": [5]}', "no whole notebook"),
        ("[" * 100_000, "no whole notebook"),
        ('{"cells": ' + "[" * 100_000, "no whole notebook"),
        (notebook(), "no code cell"),
        (notebook(SOLUTION_CELL, SOLUTION_CELL), "several cells have the name counter"),
        (notebook(cell("expect(1)", "test_x", grade=True)), "no code cell"),
    ],
)
def test_a_bad_notebook(course: Course, content: str, cause: str) -> None:
    hand_in(course, "ada", content, ".ipynb")
    problem = only(course).problem
    assert problem is not None
    assert problem.kind == "notebook"
    assert cause in problem.cause


def test_two_files_for_one_lesson(course: Course) -> None:
    hand_in(course, "ada", RIGHT)
    hand_in(course, "ada", notebook(SOLUTION_CELL), ".ipynb")
    problem = only(course).problem
    assert problem is not None
    assert problem.cause == "there are counter.ipynb and counter.py, and only one can count"


def test_code_in_a_notebook_has_the_same_limit_as_in_a_file(course: Course) -> None:
    large = cell("# " + "x" * MIB, "counter", solution=True)
    hand_in(course, "ada", notebook(large), ".ipynb")
    problem = only(course).problem
    assert problem is not None
    assert problem.kind == "too_large"


@pytest.mark.parametrize("name", ["a b", "Doe, Jane", "=1+1", "a\\..\\..\\b", "Zoë"])
def test_a_name_that_looks_odd_is_a_name(course: Course, name: str) -> None:
    hand_in(course, name, RIGHT)
    assert only(course).student == name


@pytest.mark.parametrize(
    "name", ["a\nb", "a\x1b[31m", " a", "..\\..\\etc", "...", "x" * 121, os.fsdecode(b"a\xff")]
)
def test_a_name_that_cannot_stand_in_a_report(course: Course, name: str) -> None:
    hand_in(course, name, RIGHT)
    collected = collect(course.submitted, course.lessons)
    (stray,) = collected.strays
    assert len(collected) == 0
    assert stray.problem.kind == "name"
    assert stray.path.isprintable()


def test_a_student_or_topic_that_is_a_link_is_not_followed(course: Course, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere" / "toy"
    elsewhere.mkdir(parents=True)
    (elsewhere / "counter.py").write_text(RIGHT)
    (course.submitted / "ada").symlink_to(elsewhere.parent)
    (course.submitted / "bob").mkdir()
    (course.submitted / "bob" / "toy").symlink_to(elsewhere)
    collected = collect(course.submitted, course.lessons)
    assert len(collected) == 0
    assert [(each.path, each.problem.kind) for each in collected.strays] == [
        ("ada", "link"),
        ("bob/toy", "link"),
    ]


def test_a_misspelt_lesson_is_told_with_the_one_it_may_be(course: Course) -> None:
    path = hand_in(course, "ada", RIGHT)
    path.rename(path.with_name("conter.py"))
    (stray,) = collect(course.submitted, course.lessons).strays
    assert stray.path == "ada/toy/conter.py"
    assert stray.problem.fix == f"name it {LESSON}"


def test_what_other_tools_leave_behind_is_nobodys_problem(course: Course) -> None:
    path = hand_in(course, "ada", RIGHT)
    (path.parent / "timestamp.txt").write_text("2027-01-01 00:00:00 UTC")
    (path.parent / "__pycache__").mkdir()
    (path.parent / ".ipynb_checkpoints").mkdir()
    (course.submitted / ".DS_Store").write_text("")
    (course.submitted / "notes.txt").write_text("")
    collected = collect(course.submitted, course.lessons)
    assert (len(collected), collected.strays) == (1, ())


def test_the_digest_is_that_of_what_is_graded(course: Course) -> None:
    hand_in(course, "ada", RIGHT)
    before = only(course).digest
    hand_in(course, "ada", HALF)
    assert only(course).digest != before


class TestSolutionsOfNotebooks:
    def source(self, course: Course, *cells: dict[str, object]) -> str:
        hand_in(course, "ada", notebook(*cells), ".ipynb")
        source = only(course).source
        assert source is not None
        return source.decode()

    def test_solution_cells_count_and_nothing_else(self, course: Course) -> None:
        examples = cell("Counter().next()")
        test = cell("raise SystemExit", "test_counts", grade=True)
        found = self.source(course, examples, cell("x = 1", "counter", solution=True), test)
        assert found == "x = 1\n"

    def test_several_solution_cells_of_a_lesson_are_one_module(self, course: Course) -> None:
        cells = [cell(f"x = {n}", f"counter.{n}", solution=True) for n in (1, 2)]
        assert self.source(course, *cells) == "x = 1\n\n\nx = 2\n"

    def test_a_notebook_of_ones_own_counts_whole(self, course: Course) -> None:
        assert self.source(course, cell("x = 1"), cell("y = 2")) == "x = 1\n\n\ny = 2\n"

    def test_magics_are_commented_out(self, course: Course) -> None:
        found = self.source(course, cell("%load_ext x\nimport os\n!ls\nos?\nif os:\n    %time os"))
        assert found == "# %load_ext x\nimport os\n# !ls\n# os?\nif os:\n    # %time os\n"

    def test_what_is_python_stays_as_it_is(self, course: Course) -> None:
        text = 'x = """\n%s\n"""\ny = (7\n  % 2)'
        assert self.source(course, cell(text)) == f"{text}\n"

    def test_lines_in_a_list_are_the_same_as_one_text(self, course: Course) -> None:
        lines = cell("")
        lines["source"] = ["x = 1\n", "y = 2"]
        assert self.source(course, lines) == "x = 1\ny = 2\n"

    def test_code_that_is_too_deep_for_a_parser_is_left_to_the_worker(self, course: Course) -> None:
        deep = "%time\n" + "(" * 5000 + "-" * 5000 + "1"
        assert self.source(course, cell(deep)).startswith("# %time\n")

    def test_json_of_other_tools(self, course: Course) -> None:
        content = b"\xef\xbb\xbf" + json.dumps(
            {"cells": [cell("x = 1")], "extra": {"deep": [[[]]]}}
        ).encode("utf-8")
        hand_in(course, "ada", content, ".ipynb")
        assert only(course).source == b"x = 1\n"
