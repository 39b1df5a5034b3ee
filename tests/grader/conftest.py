"""A lesson small enough to be read at a glance, for the tests of what grades lessons."""

from pathlib import Path

import pytest

from grader.lessons import Lesson

SOLUTION = '''"""A stack of block ids."""


class Stack:
    """A stack.

    >>> stack = Stack([1, 2, 3])
    >>> stack.pop()
    3
    """

    def __init__(self, ids):
        self.ids = list(ids)

    def pop(self):
        """Take the last.

        >>> Stack([]).pop()
        Traceback (most recent call last):
            ...
        ValueError: the stack is empty
        """
        ### BEGIN SOLUTION take the last, if there is one
        if not self.ids:
            raise ValueError("the stack is empty")
        return self.ids.pop()
        ### END SOLUTION

    def push(self, ids):
        """Put ids on top, the last one uppermost."""
        ### BEGIN SOLUTION add them at the end
        self.ids.extend(ids)
        ### END SOLUTION
'''

SUITE = '''from hypothesis import given, strategies as st

from grader.checks import check, compare, expect, expect_error, require, story

IDS = st.lists(st.integers(0, 9), max_size=8)


class Model:
    def __init__(self, ids):
        self.items = list(ids)

    def pop(self):
        if not self.items:
            raise ValueError
        return self.items.pop()

    def push(self, ids):
        self.items += ids


@check(points=2, rule="How it really works")
@given(IDS)
def test_pops_the_last_first(lesson, ids):
    """Pop takes the last one first."""
    story(f"A stack of {len(ids)}.")
    stack = lesson.Stack(ids)
    for expected in reversed(ids):
        expect(stack.pop(), expected, "The last one put on is the first one taken.")


@check(points=3, rule="How it really works")
def test_an_empty_stack_raises(lesson):
    """An empty stack raises ValueError."""
    stack = lesson.Stack([])
    expect_error(lambda: stack.pop(), "ValueError")


@check(points=5, rule="How it really works")
@given(IDS, IDS)
def test_pushes_on_top(lesson, first, then):
    """Push puts ids on top."""
    stack = lesson.Stack(first)
    stack.push(then)
    for expected in reversed(first + then):
        expect(stack.pop(), expected)


@check(points=10, rule="How it really works", needs=("test_pushes_on_top",))
@given(st.lists(st.one_of(st.none(), IDS)))
def test_any_order_of_calls(lesson, steps):
    """Any order of calls gives what a list gives."""
    stack = compare(lesson.Stack([]), Model([]))
    for ids in steps:
        stack.pop() if ids is None else stack.push(ids)
'''


class Toy:
    """The lesson ``toy/stack``."""

    solution = SOLUTION
    suite = SUITE

    def write(self, root: Path, suite: str = SUITE) -> Lesson:
        """Write it under a folder of its own."""
        lesson = Lesson("toy/stack", root)
        for path, content in ((lesson.solution, SOLUTION), (lesson.suite, suite)):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        return lesson

    def submit(self, folder: Path, *changes: tuple[str, str], text: str = SOLUTION) -> Path:
        """Write a submission: the solution, or another text, with changes."""
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = folder / "stack.py"
        path.write_text(text)
        return path


@pytest.fixture(scope="session")
def toy() -> Toy:
    return Toy()
