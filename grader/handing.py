"""Handing a part of the engine to a submission.

Where the submission is imported plainly it gets the part itself. Where it runs in a worker, the
runner says with ``handed_in_as`` what it gets instead.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_handing_in: list[Callable[[object, tuple[str, ...]], Any]] = [lambda part, _methods: part]


def hand_in(part: object, *methods: str) -> Any:
    """A part of the engine, to be given to the submission, which may call ``methods`` on it.

    >>> hand_in([3, 1, 2], "pop")
    [3, 1, 2]
    """
    return _handing_in[-1](part, methods)


@contextmanager
def handed_in_as(wrap: Callable[[object, tuple[str, ...]], Any]) -> Iterator[None]:
    """Within it, ``hand_in`` gives what ``wrap`` makes of the part and the methods.

    >>> with handed_in_as(lambda part, methods: methods):
    ...     hand_in([3, 1, 2], "pop")
    ('pop',)
    """
    _handing_in.append(wrap)
    try:
        yield
    finally:
        _handing_in.pop()
