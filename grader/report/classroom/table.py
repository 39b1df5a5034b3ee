"""A class on a terminal: who has how many points, what could not be graded, who is like whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from grader.classroom.pairs import Pair
from grader.classroom.standings import ClassStandings, Standing
from grader.classroom.submissions import Stray
from grader.report.classroom.words import SIMILAR, UNSEALED, cause_words
from grader.report.console import harmless
from grader.report.words import counted

_SYMBOLS = {"not_handed_in": "–", "not_graded": "…"}
LEGEND = (
    "– not handed in · … not graded yet · ✗ cannot be loaded · ! needs a person · * edited since"
)


def class_page(standings: ClassStandings) -> RenderableType:
    """The table of points, and under it each entry that a person has to know of."""
    parts: list[RenderableType] = [
        *(_table(standings), Text(), _lessons(standings)),
        Text(LEGEND, style="quiet"),
    ]
    return Group(*parts, problems_page(standings))


def problems_page(standings: ClassStandings) -> RenderableType:
    """What a person has to know of: what could not be graded, and how it was graded."""
    parts: list[RenderableType] = []
    if lines := [*problem_lines(standings), *stray_lines(standings.strays)]:
        parts += [Text(), *lines]
    if standings.unsealed:
        parts += [Text(), Text(UNSEALED, style="bad")]
    return Group(*parts)


def problem_lines(standings: ClassStandings) -> Iterator[Text]:
    """`✗ ada/kv_cache/block_pool.py  it is larger than 1 MiB; hand in …`, a line each."""
    for entry in standings.entries():
        if entry.verdict.status in ("cannot_load", "grader_error"):
            yield _problem(entry.path, cause_words(entry.verdict))


def stray_lines(strays: Sequence[Stray]) -> Iterator[Text]:
    """What lies among the submissions and is none."""
    for stray in strays:
        yield _problem(stray.path, f"{stray.problem.cause}; {stray.problem.fix}")


def similar_page(pairs: Sequence[Pair]) -> RenderableType:
    """Pairs that are alike, lesson by lesson."""
    if not pairs:
        return Text("No two submissions are alike.")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in ("lesson", "one", "the other"):
        table.add_column(title, overflow="fold")
    table.add_column("alike", justify="right")
    for pair in pairs:
        names = (harmless(name) for name in (pair.first, pair.second))
        table.add_row(pair.lesson, *map(Text, names), f"{pair.likeness:.0%}")
    return Group(table, Text(SIMILAR, style="quiet"))


def _table(standings: ClassStandings) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("student", style="name", overflow="fold")
    for number in range(1, len(standings.lessons) + 1):
        table.add_column(str(number), justify="right", no_wrap=True)
    table.add_column("points", justify="right", no_wrap=True)
    for student in standings.students:
        found = standings.of_student(student)
        points = sum(each.entry.verdict.points for each in found if each.entry)
        table.add_row(Text(harmless(student)), *map(_cell, found), str(points))
    return table


def _lessons(standings: ClassStandings) -> Text:
    numbered = enumerate(standings.lessons, start=1)
    return Text("\n".join(f"{number:>3}  {lesson}" for number, lesson in numbered) + "\n")


def _cell(standing: Standing) -> Text:
    if standing.entry is None:
        return Text(_SYMBOLS[standing.state], style="quiet")
    verdict = standing.entry.verdict
    edited = "*" if standing.state == "changed" else ""
    match verdict.status:
        case "grader_error":
            return Text(f"!{edited}", style="bad")
        case "cannot_load":
            return Text(f"✗{edited}", style="bad")
        case "passed":
            return Text(f"{verdict.points}{edited}", style="good")
    return Text(f"{verdict.points}{edited}")


def _problem(path: str, cause: str) -> Text:
    return Text.assemble(("✗ ", "bad"), (harmless(path), "name"), f"  {cause}", overflow="fold")


def graded_line(new: int, known: int, need_a_person: int) -> Text:
    """What a run of grading came to."""
    text = Text(f"{counted(new, 'submission')} graded", style="head")
    if known:
        text.append(f" · {known} had a verdict already", style="default")
    if need_a_person:
        text.append(f" · {need_a_person} need a person", style="bad")
    return text
