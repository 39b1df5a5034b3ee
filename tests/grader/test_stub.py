"""How a stub is cut from a solution."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from grader import lessons, stub
from grader.commands.stubs import command
from grader.lessons import Lesson
from grader.stub import StubError, cut

SOLUTION = '''"""A module."""

LIMIT = 3  # kept


class Pool:
    def __init__(self):
        self.free = [1]

    def take(self, n):
        """Take n."""
        if n == 0:
            ### BEGIN SOLUTION give "nothing"
            return []
            ### END SOLUTION
        ### BEGIN SOLUTION take from the head
        taken = self.free[:n]

        return taken
        ### END SOLUTION


def after():
    return 1
'''

STUB = '''"""A module."""

LIMIT = 3  # kept


class Pool:
    def __init__(self):
        self.free = [1]

    def take(self, n):
        """Take n."""
        if n == 0:
            raise NotImplementedError("Pool.take: give \\"nothing\\"")
        raise NotImplementedError("Pool.take: take from the head")


def after():
    return 1
'''


def test_each_region_becomes_one_statement_and_all_else_is_kept_verbatim() -> None:
    assert cut(SOLUTION, "pool.py") == STUB


def test_a_file_without_regions_is_its_own_stub() -> None:
    assert cut(STUB, "pool.py") == STUB


def test_a_long_hint_goes_to_a_line_of_its_own() -> None:
    hint = "word " * 17 + "word"
    text = f"def f():\n    ### BEGIN SOLUTION {hint}\n    return 1\n    ### END SOLUTION\n"
    assert cut(text, "f.py") == (
        f'def f():\n    raise NotImplementedError(\n        "f: {hint}"\n    )\n'
    )


@pytest.mark.parametrize(
    ("body", "line", "problem"),
    [
        ("def f():\n    ### BEGIN SOLUTION\n    pass\n    ### END SOLUTION", 2, "no hint"),
        ("def f():\n    pass\n    ### BEGIN SOLUTION a\n    x = 1", 3, "never ended"),
        ("def f():\n    pass\n    ### END SOLUTION", 3, "without"),
        (
            "def f():\n    ### BEGIN SOLUTION a\n    ### BEGIN SOLUTION b\n    pass",
            3,
            "inside the one of line 2",
        ),
        ("### BEGIN SOLUTION a\nx = 1\n### END SOLUTION", 1, "inside a function"),
        ("def f(:\n    pass", 1, "not Python"),
    ],
)
def test_an_error_names_file_and_line(body: str, line: int, problem: str) -> None:
    with pytest.raises(StubError, match=problem) as caught:
        cut(body, "kv_cache/f.py")
    assert str(caught.value).startswith(f"kv_cache/f.py:{line}: ")


def test_a_stub_is_known_again_with_other_line_ends(tmp_path: Path) -> None:
    lesson = _lesson(tmp_path)
    submission = tmp_path / "mine.py"
    submission.write_bytes(STUB.replace("\n", "\r\n").encode())
    assert stub.is_stub(lesson, submission)
    submission.write_bytes(b"\xff\xfe")
    assert not stub.is_stub(lesson, submission)


def test_check_names_the_stubs_that_differ_and_writing_makes_them_agree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lesson = _lesson(tmp_path)
    assert stub.differing(tmp_path) == [lesson]
    assert stub.write_all(tmp_path) == [lesson.stub]
    assert lesson.stub.read_text() == STUB
    assert stub.write_all(tmp_path) == []
    monkeypatch.setattr(stub, "differing", lambda: [Lesson("kv_cache/pool")])
    shown = CliRunner().invoke(command, ["--check"])
    assert shown.exit_code == 1
    assert "exercises/kv_cache/pool.py: differs" in shown.output


def test_every_stub_of_this_course_is_what_its_solution_cuts_to() -> None:
    assert [lesson.name for lesson in stub.differing()] == []


def _lesson(root: Path) -> Lesson:
    lesson = Lesson("kv_cache/pool", root)
    lesson.solution.parent.mkdir(parents=True)
    lesson.solution.write_text(SOLUTION)
    return lessons.find("pool", root)
