"""The examples of a stub's docstrings, and when what they print agrees."""

import doctest

import pytest

from grader.examples import agrees, docstrings

STUB = '''"""A module.

>>> one()
1
"""


def one():
    """Without an example."""


class Pool:
    """
    >>> pool = Pool()
    >>> pool.take(
    ...     2
    ... )
    [1, 2]
    """

    def take(self, n):
        """Take.

        >>> Pool().take(9)
        Traceback (most recent call last):
            ...
        ValueError: only 7 are free
        """
'''


def test_each_docstring_with_examples_is_found_by_its_qualified_name_and_line() -> None:
    found = docstrings(STUB)
    assert [(docstring.name, docstring.line) for docstring in found] == [
        ("module", 1),
        ("Pool", 13),
        ("Pool.take", 22),
    ]
    line = found[1].line + found[1].examples[1].lineno
    assert STUB.splitlines()[line - 1] == "    >>> pool.take("


@pytest.mark.parametrize(
    ("example", "output", "exception"),
    [
        (">>> 1\n1\n", "1\n", None),
        (">>> x = 1\n", "", None),
        (">>> f()  # doctest: +ELLIPSIS\n[1, ...]\n", "[1, 2, 3]\n", None),
        (
            ">>> f()\nTraceback (most recent call last):\nValueError: a\n",
            "",
            "ValueError: a\n",
        ),
        (
            ">>> f()\nTraceback (most recent call last):\nFull: a\n",
            "",
            "lesson_block_pool.Full: a\n",
        ),
        (
            ">>> f()\nTraceback (most recent call last):\nValueError: a\n",
            "",
            "ValueError: in other words\n",
        ),
    ],
)
def test_these_agree(example: str, output: str, exception: str | None) -> None:
    assert agrees(doctest.DocTestParser().get_examples(example)[0], output, exception)


@pytest.mark.parametrize(
    ("example", "output", "exception"),
    [
        (">>> 1\n1\n", "2\n", None),
        (">>> 1\n1\n", "", None),
        (">>> x = 1\n", "1\n", None),
        (">>> 1\n1\n", "1\n", "ValueError: a\n"),
        (">>> f()\nTraceback (most recent call last):\nValueError: a\n", "", None),
        (
            ">>> f()\nTraceback (most recent call last):\nValueError: a\n",
            "",
            "KeyError: a\n",
        ),
    ],
)
def test_these_do_not(example: str, output: str, exception: str | None) -> None:
    assert not agrees(doctest.DocTestParser().get_examples(example)[0], output, exception)
