"""What a lesson's text must have: its sections, known citations, questions to predict."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from grader.lessons import Lesson
from grader.prove.predictions import predictions
from grader.prove.proof import Shortfall
from manifest.symbols import Symbol, citations

SECTIONS = (
    "The idea in one minute",
    "The picture",
    "How it really works",
    "Your task",
    "Remember this",
    "Try it",
    "Check yourself",
)
Find = Callable[[str], Symbol | None]


def text_shortfalls(lesson: Lesson, find: Find) -> list[Shortfall]:
    """What the lesson's text lacks; `find` knows the symbols of vLLM by their keys."""
    file = lesson.text.relative_to(lesson.root).as_posix()
    try:
        text = lesson.text.read_text(encoding="utf-8")
    except FileNotFoundError:
        return [Shortfall("there is no text", file, "write it")]
    found = [*_of_sections(text, file), *_of_citations(text, file, find)]
    return [*found, *_of_predictions(text, file, lesson)]


def headings(text: str) -> list[str]:
    """The headings of the second level, none from inside code.

    >>> headings("# A\\n\\n## B\\n```\\n## C\\n```\\n### D\\n")
    ['B']
    """
    found = []
    in_code = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif line.startswith("## ") and not in_code:
            found.append(line[3:].strip())
    return found


def _of_sections(text: str, file: str) -> Iterator[Shortfall]:
    there = headings(text)
    for number, wanted in enumerate(SECTIONS):
        if there[number : number + 1] != [wanted]:
            fix = f"its sections are, in order: {', '.join(SECTIONS)}"
            yield Shortfall(f'section "{wanted}" is missing, or not in its place', file, fix)
            return
    for one in there[len(SECTIONS) :]:
        yield Shortfall(f'section "{one}" is one too many', file, "make it part of another")


def _of_citations(text: str, file: str, find: Find) -> Iterator[Shortfall]:
    for citation in citations(text):
        if find(citation.key) is None:
            fix = "correct it, or note it with `vllmlings manifest add`"
            yield Shortfall(f"{citation.key} is not known", f"{file}:{citation.line}", fix)


def _of_predictions(text: str, file: str, lesson: Lesson) -> Iterator[Shortfall]:
    found = predictions(text)
    if not found:
        fix = "end Check yourself with one: `<!-- predict: ... -->` behind its question"
        yield Shortfall("there is no question to predict", file, fix)
    for one in found:
        where = f"{file}:{one.line}"
        try:
            holds = one.holds(lesson)
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
            yield Shortfall(f"the prediction raises {told}", where, "correct its expression")
            continue
        if not holds:
            fix = f"it tells {', '.join(one.told) or 'nothing in bold'}; {one.expression} gives "
            yield Shortfall("the predicted answer is wrong", where, fix + repr(one.value(lesson)))
