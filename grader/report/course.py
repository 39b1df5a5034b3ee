"""The course as a learner stands in it: the status page and the list."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grader.places import Places, shown
from grader.report.words import MARKS, commands, counted, standing_text
from grader.standing import LessonStanding, Standing, next_lesson
from manifest.course import Topic

BAR_WIDTH = 24


def status(standings: list[LessonStanding], places: Places) -> RenderableType:
    """How many lessons have passed, which is next, and what to type."""
    written = [one for one in standings if one.lesson.written]
    passed = [one for one in written if one.passed]
    parts: list[RenderableType] = [_progress(len(passed), len(written), len(standings))]
    begun = [one for one in written if one.standing is not Standing.NOT_STARTED]
    if begun:
        parts += [Text(), _begun(begun)]
    following = next_lesson(standings)
    if following is None:
        parts += [Text(), Text("Every lesson that is written so far has passed.", style="good")]
        parts.append(Text("Run the engine on your own parts:"))
        parts.append(commands(("vllmlings engine first_steps --mine", "its steps as a table")))
        return Group(*parts)
    one = next(s for s in standings if s.lesson is following)
    parts += [
        Text(),
        Text.assemble(
            ("Next: ", "head"), (following.path, "name"), "   ", standing_text(one), no_wrap=True
        ),
        Text(f"  {following.title}. {following.summary}"),
        Text(),
        commands(
            (f"vllmlings read {following.name}", "its text"),
            (f"vllmlings watch {following.name}", "checks the exercise each time you save it"),
        ),
        Text(f"  {shown(places.exercise(following.path))}", no_wrap=True, overflow="ignore"),
    ]
    if not begun:
        parts += [Text(), Text("New here?"), commands(("vllmlings demo", "a look at everything"))]
    return Group(*parts)


def course_list(
    topics: tuple[Topic, ...], standings: list[LessonStanding], everything: bool
) -> RenderableType:
    """Each topic with its lessons; unless `everything`, what is still to come is only counted."""
    by_path = {one.lesson.path: one for one in standings}
    to_come = [topic for topic in topics if not topic.written and not everything]
    parts: list[RenderableType] = []
    for topic in topics:
        if topic in to_come:
            continue
        parts += [
            Text(),
            Text.assemble((topic.title, "head"), "  ", (topic.name, "name")),
            Padding(Text(topic.summary, style="quiet"), (0, 0, 0, 2), expand=False),
        ]
        ones = [by_path[lesson.path] for lesson in topic.lessons]
        lines = [one for one in ones if everything or one.lesson.written]
        if lines:
            parts.append(_lessons(lines))
        if rest := len(ones) - len(lines):
            parts.append(Padding(_to_come(f"{rest} more to come"), (0, 0, 0, 2), expand=False))
    if to_come:
        parts += [Text(), _topics_to_come(to_come)]
        parts += [Text(), commands(("vllmlings list --all", "every lesson"))]
    return Group(*parts[1:])


def _topics_to_come(topics: list[Topic]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for topic in topics:
        count = _to_come(f"{counted(len(topic.lessons), 'lesson')} to come")
        table.add_row(Text(topic.title, style="head"), Text(topic.name, style="name"), count)
    return table


def _to_come(words: str) -> Text:
    mark = MARKS[Standing.TO_COME]
    return Text(f"{mark.symbol} {words}", style=mark.style)


def _lessons(lines: list[LessonStanding]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for one in lines:
        table.add_row(Text(one.lesson.name, style="name"), standing_text(one), one.lesson.summary)
    return Padding(table, (0, 0, 0, 2), expand=False)


def _progress(passed: int, written: int, whole: int) -> Text:
    filled = BAR_WIDTH * passed // written
    text = Text.assemble(
        ("━" * filled, "good"),
        ("─" * (BAR_WIDTH - filled), "quiet"),
        f"  {passed} of {counted(written, 'lesson')} passed",
    )
    if whole > written:
        text.append(f"  ({whole - written} more to come)", style="quiet")
    return text


def _begun(begun: list[LessonStanding]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for one in begun:
        table.add_row(Text(one.lesson.path, style="name"), standing_text(one))
    return Padding(table, (0, 0, 0, 2), expand=False)
