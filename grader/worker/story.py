"""The calls of a story, and readable names for the objects in it."""

from __future__ import annotations

import re
import reprlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from grader.worker.errors import SubmissionRaised, WorkerError
from grader.worker.record import Record
from grader.worker.values import OBJECT, PART, RECORD, BadValue, Decoder

_LONGEST_STORY = 1000
_CALLED = re.compile(r"([^\W\d]\w*)\(")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")


def names_called(text: str) -> list[str]:
    """The names of what a call, or an example, calls.

    >>> names_called("blocks = pool.get_new_blocks(3)"), names_called("BlockPool(8).usage")
    (['get_new_blocks'], ['BlockPool'])
    """
    return _CALLED.findall(text)


@dataclass(frozen=True)
class Call:
    """One call: `pool = BlockPool(8)`, or `pool.free(3)` with its `result` or `error`.

    `depth` is 0 for a call of the suite and 1 or more for what the submission asks meanwhile of a
    part that was handed in. `assigned` tells that the text already names the result.
    """

    text: str
    result: Any = None
    error: BaseException | None = None
    depth: int = 0
    assigned: bool = False

    @property
    def outcome(self) -> str:
        """What came of it, in a line: the result, `raises ...`, or nothing for an assignment."""
        if isinstance(self.error, SubmissionRaised):
            return f"raises {self.error.type_name}: {self.error.message}"
        if isinstance(self.error, WorkerError):
            return str(self.error)
        if self.error is not None:
            return f"raises {type(self.error).__name__}: {self.error}"
        return "" if self.assigned else show(self.result)


class Entry:
    """A call as it was made; it is worded when the story is read."""

    __slots__ = ("_depth", "_story", "_wording", "assigns", "error", "result")

    def __init__(self, story: Story, wording: Callable[[], str], depth: int) -> None:
        self._story = story
        self._wording = wording
        self._depth = depth
        self.result: Any = None
        self.assigns = False
        self.error: BaseException | None = None

    def call(self) -> Call:
        text, result = self._wording(), self._story.shown(self.result)
        if self.assigns:
            text = f"{result!r} = {text}"
        return Call(text, result, self.error, self._depth, self.assigns)


class Story:
    """Remembers calls as they are made, as trees, which nobody can change afterwards."""

    def __init__(self, max_depth: int) -> None:
        self._calls: deque[Entry] = deque(maxlen=_LONGEST_STORY)
        self._names: dict[Any, str] = {}
        self._used: dict[str, int] = {}
        self._decoder = _Worded(self, max_depth)

    @property
    def calls(self) -> list[Call]:
        """The calls in the order in which they began; of a very long story, its last ones."""
        return [entry.call() for entry in self._calls]

    def begin(self, wording: Callable[[], str], depth: int) -> Entry:
        """A call begins. `wording` is asked when the story is read."""
        entry = Entry(self, wording, depth)
        self._calls.append(entry)
        return entry

    def strike(self, entry: Entry) -> None:
        """Take back the call that began last."""
        if self._calls and self._calls[-1] is entry:
            self._calls.pop()

    def knows(self, key: Any) -> bool:
        """Whether the object has a name."""
        return key in self._names

    def name(self, key: Any, type_name: str) -> str:
        """The variable name of an object: the last word of its type's name, numbered.

        >>> story = Story(max_depth=8)
        >>> story.name(1, "BlockPool"), story.name(2, "BlockPool"), story.name(1, "BlockPool")
        ('pool', 'pool_2', 'pool')
        """
        if key not in self._names:
            words = _WORD.findall(type_name)
            word = words[-1].lower() if words else "value"
            count = self._used[word] = self._used.get(word, 0) + 1
            self._names[key] = word if count == 1 else f"{word}_{count}"
        return self._names[key]

    def call_text(self, callee: str, args: list[Any] | None, kwargs: dict[str, Any]) -> str:
        """A call as it would be written, of trees; without arguments, an attribute.

        >>> Story(max_depth=8).call_text("pool.free", [[1, 1, 2]], {"reverse": True})
        'pool.free((1, 2), reverse=True)'
        """
        if args is None:
            return callee
        texts = [show(self.shown(tree)) for tree in args]
        texts += [f"{name}={show(self.shown(tree))}" for name, tree in kwargs.items()]
        return f"{callee}({', '.join(texts)})"

    def shown(self, tree: Any) -> Any:
        """The value of a tree, with names in the place of objects."""
        try:
            return self._decoder.decode(tree)
        except Exception:  # a forged one; the call that brought it has failed already
            return Name("?")


class Name:
    """Shows as the name of an object."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


class _Worded(Decoder):
    def __init__(self, story: Story, max_depth: int) -> None:
        super().__init__(max_depth)
        self._story = story

    def decode_special(self, tag: int, tree: list[Any]) -> Any:
        number, type_name = tree[1], tree[2] if len(tree) > 2 else "value"
        if tag == PART:
            return Name(self._story.name(("part", number), type_name))
        if tag == OBJECT or (tag == RECORD and number and len(tree) == 4 and not tree[3]):
            return Name(self._story.name(number, type_name))
        if tag == RECORD:
            return Record(type_name, {name: self.decode(item) for name, item in tree[3].items()})
        raise BadValue(f"a value with the unknown tag {tag}")


def show(value: Any, longest: int = 300) -> str:
    """A value in a story, the same in every run, cut where it would fill the page.

    >>> show({"b": {3, 1, 2}, "a": None})
    "{'b': {1, 2, 3}, 'a': None}"
    """
    text = _Shown().repr(value)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


class _Shown(reprlib.Repr):
    """Writes no more of a value than a page has room for, and sets in order."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 12
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdict = 100
        self.maxstring = self.maxother = self.maxlong = 300

    def repr_dict(self, value: dict[Any, Any], level: int) -> str:
        if level <= 0:
            return "{…}"
        shown = list(islice(value.items(), self.maxdict))
        pairs = [f"{self.repr1(k, level - 1)}: {self.repr1(v, level - 1)}" for k, v in shown]
        rest = ["…"] if len(value) > len(shown) else []
        return f"{{{', '.join(pairs + rest)}}}"

    def repr_int(self, value: int, level: int) -> str:
        try:
            return super().repr_int(value, level)
        except ValueError:  # more digits than Python writes
            return f"<an int of {value.bit_length()} bits>"
