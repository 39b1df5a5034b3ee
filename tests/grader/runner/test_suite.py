"""Collecting a suite and running its checks one at a time."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grader.runner.process import Channel, fork
from grader.runner.suite import Collection, collect


def in_collection(suite: Path, root: Path, look: Callable[[Collection], str]) -> str:
    """What ``look`` gives, in a process of its own: pytest runs inside pytest there."""

    def body(channel: Channel) -> None:
        collect(suite, root, lambda collection: channel.send(look(collection).encode()))

    child = fork(body)
    try:
        return child.channel.receive().decode()
    finally:
        child.end()


def problem(toy: Any, root: Path, suite: str) -> str:
    lesson = toy.write(root, suite=suite)
    return in_collection(lesson.suite, root, lambda collection: str(collection.problem))


def test_the_checks_are_collected_in_the_order_they_stand(toy: Any, tmp_path: Path) -> None:
    lesson = toy.write(tmp_path)
    names = in_collection(
        lesson.suite, tmp_path, lambda found: " ".join(item.name for item in found.items)
    )
    assert names == (
        "test_pops_the_last_first test_an_empty_stack_raises "
        "test_pushes_on_top test_any_order_of_calls"
    )
    assert problem(toy, tmp_path, toy.suite) == "None"


def test_a_check_is_called_with_the_lesson_that_it_is_run_on(toy: Any, tmp_path: Path) -> None:
    def look(collection: Collection) -> str:
        given: list[object] = []
        for number, item in enumerate(collection.items):
            collection.run_check(item, number, lambda _, fixtures: given.append(fixtures))
        return repr(given)

    lesson = toy.write(tmp_path)
    assert in_collection(lesson.suite, tmp_path, look) == repr([{"lesson": n} for n in range(4)])


def test_a_fixture_that_fails_is_told(toy: Any, tmp_path: Path) -> None:
    suite = toy.suite.replace("(lesson):", "(lesson, no_such_fixture):")
    lesson = toy.write(tmp_path, suite=suite)
    told = in_collection(
        lesson.suite,
        tmp_path,
        lambda found: str(found.run_check(found.items[1], None, lambda *_: None)),
    )
    assert "no_such_fixture" in told


@pytest.mark.parametrize(
    ("suite", "expected"),
    [
        ("import no_such_module", "no_such_module"),
        ("def f(:", "SyntaxError"),
        ("", "the suite has no checks"),
        ("def test_a(lesson): pass", "no @check above test_a"),
        (
            "from grader.checks import check\n"
            "@check(1, 'r', needs=['test_b'])\ndef test_a(lesson): pass\n"
            "@check(1, 'r', needs=['test_a'])\ndef test_b(lesson): pass\n",
            "test_a, test_b need one another",
        ),
    ],
)
def test_a_suite_that_cannot_be_used_says_why(
    toy: Any, tmp_path: Path, suite: str, expected: str
) -> None:
    assert expected in problem(toy, tmp_path, suite)


def test_a_suite_that_is_missing_says_so(tmp_path: Path) -> None:
    told = in_collection(tmp_path / "none.py", tmp_path, lambda found: str(found.problem))
    assert told == "pytest ended with USAGE_ERROR"
