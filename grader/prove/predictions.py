"""Questions whose numbers a reader predicts: each answer is computed, never typed.

In *Check yourself* a comment stands behind the question, in front of the answer:

    <details><summary>How many tokens does step 2 compute?</summary>
    <!-- predict: sum(run("twins").steps[2].num_scheduled_tokens.values()) -->

    **9**. Eight of them are of the prompt ...
    </details>

The expression knows `run(name)`, the trace of `exercises/workloads/<name>.yaml` with its free
lists, and `lesson`, the lesson's solution. Its value, flattened, is what the answer shows in bold:
lists and tuples give their items, dictionaries their values. Of the bold words those with a digit
in them count; 0.29 stands for 0.2857.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from grader.bare import import_plainly
from grader.lessons import Lesson
from grader.workloads import read_workload
from reference.engine import run_workload
from reference.trace import Trace

_QUESTION = re.compile(
    r"<details>\s*<summary>(?:(?!</summary>).)*</summary>\s*"
    r"<!--\s*predict:\s*(?P<expression>.*?)\s*-->(?P<answer>.*?)</details>",
    re.DOTALL,
)
_BOLD = re.compile(r"\*\*(.+?)\*\*", re.DOTALL)
_AROUND_WORDS = ".,;:()[]{}`\"'"


@dataclass(frozen=True)
class Prediction:
    """A question to predict: the line it begins in, what gives its answer, what the text says."""

    line: int
    expression: str
    answer: str

    @property
    def told(self) -> list[str]:
        """What the answer shows in bold, word by word.

        >>> Prediction(1, "[3, 1000]", "**3** of 9, then **1,000 tokens**.").told
        ['3', '1,000']
        """
        words = [word for bold in _BOLD.findall(self.answer) for word in bold.split()]
        return [word.strip(_AROUND_WORDS) for word in words if any(map(str.isdigit, word))]

    def value(self, lesson: Lesson) -> object:
        """What the expression gives; it may raise whatever an expression raises."""

        def run(name: str) -> Trace:
            file = lesson.root / "exercises" / "workloads" / f"{name}.yaml"
            return run_workload(read_workload(file), free_order=True)

        return eval(self.expression, {"run": run, "lesson": import_plainly(lesson.solution)})

    def holds(self, lesson: Lesson) -> bool:
        """Whether the answer tells what the expression gives, in its order."""
        values = list(flat(self.value(lesson)))
        return len(values) == len(self.told) and all(map(_tells, self.told, values))


def predictions(text: str) -> list[Prediction]:
    """The questions to predict of a lesson's text, in order."""
    return [
        Prediction(
            text.count("\n", 0, match.start()) + 1,
            " ".join(match["expression"].split()),
            match["answer"],
        )
        for match in _QUESTION.finditer(text)
    ]


def flat(value: object) -> Iterator[object]:
    """The single values in a value, in order.

    >>> list(flat({"a": 3, "b": [1, ("x", 2)]}))
    [3, 1, 'x', 2]
    """
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from flat(item)
    else:
        yield value


def _tells(word: str, value: object) -> bool:
    if not isinstance(value, int | float):
        return word == str(value)
    try:
        number = float(word.replace(",", ""))
    except ValueError:
        return False
    decimals = len(word.partition(".")[2])
    return number == round(value, decimals) if decimals else number == value
