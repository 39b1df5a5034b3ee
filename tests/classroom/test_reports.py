"""What a class's teacher, its students and other programs are told."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from class_kit import LESSON, entry, hand_in, verdict
from rich.console import Console, RenderableType
from rich.theme import Theme

from grader.classroom.course import Course
from grader.classroom.journal import Entry, open_journal
from grader.classroom.standings import ClassStandings, standings_of
from grader.classroom.submissions import collect
from grader.classroom.tally import tally
from grader.report.classroom.gradescope import gradescope_results
from grader.report.classroom.junit import class_junit
from grader.report.classroom.spreadsheet import class_csv
from grader.report.classroom.statistics import statistics_page
from grader.report.classroom.student import student_html, student_markdown
from grader.report.classroom.table import class_page
from grader.report.classroom.words import UNSEALED, Detail
from grader.report.console import STYLES
from grader.verdict import GraderError, LoadError, Verdict

NAMES = ["Doe, Jr.", 'the "one"', "=1+1", "-2", "@x", "Zoë", "<b>&amp;"]
BROKEN = LoadError("syntax", "x.py", 3, "'(' was never closed", "close it", source="f(")
CANNOT_LOAD = Verdict(LESSON, "cannot_load", 0, 10, error=BROKEN)
FAILED = Verdict(LESSON, "grader_error", 0, 0, error=GraderError("the suite is broken"))


def of_class(course: Course, *entries: Entry) -> ClassStandings:
    """A class that has handed in something for each entry."""
    for each in entries:
        hand_in(course, each.student, each.student)
    digests = {each.student: each.digest for each in collect(course.submitted, course.lessons)}
    with open_journal(course.journal) as journal:
        for each in entries:
            journal.add(msgspec.structs.replace(each, digest=digests[each.student]))
    return standings_of(course)


def text_of(page: RenderableType) -> str:
    console = Console(theme=Theme(STYLES), width=100, color_system=None)
    with console.capture() as captured:
        console.print(page)
    return captured.get()


def rows(standings: ClassStandings) -> list[list[str]]:
    return list(csv.reader(io.StringIO(class_csv(standings))))


class TestSpreadsheet:
    def test_has_a_row_for_each_student(self, course: Course) -> None:
        with of_class(course, entry("ada", verdict(7)), entry("bob", verdict(2))) as standings:
            head, *found = rows(standings)
        assert head == ["student", LESSON, "points", "max_points", "notes"]
        assert found == [["ada", "7", "7", "10", ""], ["bob", "2", "2", "10", ""]]

    def test_survives_any_name_and_runs_none(self, course: Course) -> None:
        with of_class(course, *(entry(name, verdict(2)) for name in NAMES)) as standings:
            _, *found = rows(standings)
        names = [row[0] for row in found]
        assert {name.removeprefix("'") for name in names} == set(NAMES)
        assert {len(row) for row in found} == {5}
        assert not any(cell.startswith(("=", "+", "-", "@")) for row in found for cell in row)

    def test_no_points_is_not_zero_points(self, course: Course) -> None:
        (course.submitted / "eve").mkdir()
        with of_class(course, entry("ada", FAILED), entry("bob", CANNOT_LOAD)) as standings:
            _, ada, bob, eve = rows(standings)
        assert (ada[1], bob[1], eve[1]) == ("", "0", "")
        assert "needs a person" in ada[4]
        assert "line 3: '(' was never closed" in bob[4]
        assert "not handed in" in eve[4]


def test_the_table_shows_each_kind_of_standing(course: Course) -> None:
    (course.submitted / "none").mkdir()
    kinds = {"ada": verdict(10, "passed"), "bob": FAILED, "eve": CANNOT_LOAD, "old": verdict(7)}
    with of_class(course, *(entry(name, found) for name, found in kinds.items())):
        pass
    hand_in(course, "new", "x = 1")
    hand_in(course, "old", "x = 2")
    with standings_of(course) as standings:
        lines = text_of(class_page(standings)).splitlines()
    cells = {line.split()[0]: line.split()[1] for line in lines[2:8]}
    expected = {"ada": "10", "bob": "!", "eve": "✗", "new": "…", "none": "–", "old": "7*"}
    assert cells == expected
    assert any("eve/toy/counter.py" in line and "never closed" in line for line in lines)


def test_every_report_says_that_there_was_no_sandbox(course: Course) -> None:
    with of_class(course, entry("ada", verdict(2), sandbox="none")) as standings:
        found = standings.of_student("ada")
        reports = [
            " ".join(text_of(class_page(standings)).split()),
            class_csv(standings),
            class_junit(standings, "none"),
            student_html("ada", found, "none"),
            student_markdown("ada", found, "none"),
            gradescope_results(found, "none"),
        ]
    assert all(UNSEALED in report for report in reports)


class TestDetail:
    """How much of a failed check a student is told."""

    @pytest.fixture(params=["html", "markdown", "gradescope"])
    def told(self, request: pytest.FixtureRequest, course: Course) -> Callable[[Detail], str]:
        with of_class(course, entry("ada", verdict(2))) as standings:
            found = standings.of_student("ada")
        make = {"html": student_html, "markdown": student_markdown}.get(request.param)
        if make is None:
            return lambda detail: gradescope_results(found, detail)
        return lambda detail: make("ada", found, detail)

    def test_none_tells_points_alone(self, told: Callable[[Detail], str]) -> None:
        report = told("none")
        assert "2 of 10 points" in report
        assert "It doubles" not in report
        assert "yours" not in report

    def test_names_tells_what_is_checked(self, told: Callable[[Detail], str]) -> None:
        report = told("names")
        assert "It doubles" in report
        assert "yours" not in report

    def test_stories_tells_the_case(self, told: Callable[[Detail], str]) -> None:
        report = told("stories")
        assert "the engine: 6" in report
        assert "yours:      5" in report


@pytest.mark.parametrize("detail", ["none", "names", "stories"])
def test_what_does_not_load_is_told_with_its_line(course: Course, detail: Detail) -> None:
    with of_class(course, entry("ada", CANNOT_LOAD)) as standings:
        found = standings.of_student("ada")
    assert "line 3: &#x27;(&#x27; was never closed" in student_html("ada", found, detail)
    assert "3 | f(" in student_markdown("ada", found, detail)


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.found.append(tag)


def test_nothing_of_a_student_becomes_a_tag(course: Course) -> None:
    nasty = "<script>alert(1)</script>"
    error = msgspec.structs.replace(BROKEN, cause=nasty, source=nasty)
    broken = msgspec.structs.replace(CANNOT_LOAD, error=error)
    with of_class(course, entry("<b>", broken), entry("ada", verdict(2))) as standings:
        pages = [
            student_html(name, standings.of_student(name), "stories") for name in ("<b>", "ada")
        ]
        markdown = student_markdown("<b>", standings.of_student("<b>"), "stories")
    for page in pages:
        tags = Tags()
        tags.feed(page)
        assert not {"script", "b"} & set(tags.found)
    outside = "".join(markdown.split("```")[::2])
    assert "<script" not in outside.replace("\\<", "")


def test_a_fence_in_a_story_does_not_end_its_block(course: Course) -> None:
    error = msgspec.structs.replace(BROKEN, source="```\n# no heading")
    with of_class(course, entry("ada", msgspec.structs.replace(CANNOT_LOAD, error=error))) as found:
        markdown = student_markdown("ada", found.of_student("ada"), "stories")
    assert "````text" in markdown


class TestJunit:
    def test_a_suite_for_each_submission_a_case_for_each_check(self, course: Course) -> None:
        with of_class(course, entry("Doe, Jr.", verdict(2))) as standings:
            root = ElementTree.fromstring(class_junit(standings, "stories"))
        (suite,) = root
        counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
        assert counts == {"tests": "2", "failures": "1", "errors": "0", "skipped": "0"}
        assert [case.get("name") for case in suite] == ["It counts.", "It doubles <b>."]
        assert "yours:" in (suite.findtext(".//failure") or "")

    def test_what_was_not_run_is_one_case(self, course: Course) -> None:
        stub = Verdict(LESSON, "not_started", 0, 10)
        people = {"ada": CANNOT_LOAD, "bob": FAILED, "eve": stub}
        with of_class(course, *(entry(name, each) for name, each in people.items())) as standings:
            root = ElementTree.fromstring(class_junit(standings, "names"))
        assert [suite[0][0].tag for suite in root] == ["failure", "error", "skipped"]

    def test_characters_that_xml_has_not(self, course: Course) -> None:
        error = msgspec.structs.replace(BROKEN, cause="a\x00b\x1b[31m\ud800")
        broken = msgspec.structs.replace(CANNOT_LOAD, error=error)
        with of_class(course, entry("ada", CANNOT_LOAD)) as standings:
            found = standings.of("ada", LESSON).entry
            assert found is not None
            bad = msgspec.structs.replace(found, verdict=broken)
            standings.entries = lambda: iter([bad])  # type: ignore[method-assign]  # no JSON has it
            ElementTree.fromstring(class_junit(standings, "names").encode())


class TestGradescope:
    def results(
        self, course: Course, found: Verdict, detail: Detail = "names"
    ) -> dict[str, object]:
        with of_class(course, entry("ada", found)) as standings:
            results: dict[str, object] = json.loads(
                gradescope_results(standings.of_student("ada"), detail)
            )
            return results

    def test_a_check_is_a_test_with_its_points(self, course: Course) -> None:
        results = self.results(course, verdict(2))
        tests = results["tests"]
        assert results["score"] == 2
        assert isinstance(tests, list)
        assert [(each["score"], each["max_score"], each["status"]) for each in tests] == [
            (2, 2, "passed"),
            (0, 8, "failed"),
        ]

    def test_what_the_grader_failed_at_has_no_score(self, course: Course) -> None:
        assert "score" not in self.results(course, FAILED)


def test_statistics_say_what_the_class_did_not_understand(course: Course) -> None:
    people = [entry(f"s{number}", verdict(2)) for number in range(3)]
    with of_class(course, *people, entry("x", CANNOT_LOAD)) as standings:
        found = tally(LESSON, standings.of_lesson(LESSON))
    assert (found.handed_in, found.mean, found.statuses["failed"]) == (4, 1.5, 3)
    (hardest,) = found.hardest
    assert (hardest.name, hardest.passed, hardest.tried) == ("test_doubles", 0, 3)
    page = text_of(statistics_page([found]))
    assert "1.5 of 10 points on average" in page
    assert "0/3 It doubles <b>." in page
    assert "3× another result" in page


def test_reports_read_a_journal_that_is_not_there(course: Course, tmp_path: Path) -> None:
    hand_in(course, "ada", "x = 1")
    with standings_of(course) as standings:
        assert standings.of("ada", LESSON).state == "not_graded"
        assert class_junit(standings, "none").count("testsuite") == 1
    assert not (tmp_path / "course" / ".vllmlings").exists()
