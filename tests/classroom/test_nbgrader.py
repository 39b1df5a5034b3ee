"""Real nbgrader on the course that `vllmlings classroom init` makes, with the sealed execution."""

from __future__ import annotations

import csv
import html
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from class_kit import FakeExecutor
from leaks import leaked
from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderAPI
from notebook_class import (
    LESSONS,
    PARTLY,
    SOLUTION,
    STUB,
    TOPIC,
    WARNS,
    WRONG,
    NotebookClass,
    all_text,
    cell_named,
    check_cells,
    make_notebook_class,
    nbgrader_of,
    text_of,
)
from traitlets.config.loader import PyFileConfigLoader

from grader.classroom import sealed_execute
from grader.classroom.checks import checks_of
from grader.lessons import Lesson
from grader.verdict import GraderError, Verdict

LESSON, OTHER = LESSONS
NAME = LESSON.split("/")[1]

pytestmark = pytest.mark.needs("bubblewrap")


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> NotebookClass:
    """A class, autograded, with feedback."""
    made = make_notebook_class(tmp_path_factory.mktemp("class") / "course")
    handed_in = {
        "ada": SOLUTION,
        "ben": PARTLY,
        "cyd": STUB,
        "dora": WARNS,
        "eve": WRONG,
        "finn": "def half(:\n",
        "gil": "%time\n" + SOLUTION + "\n!ls\n",
    }
    for student, solution in handed_in.items():
        made.hand_in(student, LESSON, solution)
    (made.folder / "submitted" / "dora" / TOPIC / f"{NAME}.py").write_text("mine = 1\n")
    made.nbgrader("autograde", TOPIC)
    made.nbgrader("generate_feedback", TOPIC)
    return made


@pytest.fixture
def gradebook(graded: NotebookClass) -> Iterator[Gradebook]:
    with Gradebook(f"sqlite:///{graded.folder}/gradebook.db") as gradebook:
        yield gradebook


def test_the_notebook_has_text_stub_examples_and_a_locked_cell_for_each_check(
    graded: NotebookClass,
) -> None:
    notebook = graded.released(LESSON)
    markdown = [text_of(c) for c in notebook["cells"] if c["cell_type"] == "markdown"]
    assert markdown[0].startswith("# Block pool")
    assert any(text.startswith("## The picture") and "```mermaid" in text for text in markdown)
    assert text_of(cell_named(notebook, NAME)) == STUB.strip()
    assert any("doctest" in text_of(cell) for cell in notebook["cells"])
    checks = checks_of(Lesson(LESSON))
    found = {nbgrader_of(c)["grade_id"]: nbgrader_of(c)["points"] for c in check_cells(notebook)}
    assert found == {check.name: check.points for check in checks}
    for check, cell in zip(checks, check_cells(notebook), strict=True):
        assert nbgrader_of(cell)["locked"]
        assert all(line.startswith("# ") for line in text_of(cell).splitlines())
        assert check.name in text_of(cell)


def test_neither_source_nor_release_has_a_line_of_a_suite_or_a_solution(
    graded: NotebookClass,
) -> None:
    for folder in ("source", "release"):
        paths = [*(graded.folder / folder).rglob("*")]
        assert {path.suffix for path in paths if path.is_file()} == {".ipynb"}
    for lesson in LESSONS:
        assert leaked(all_text(graded.released(lesson))) == []


@pytest.mark.parametrize(
    ("student", "points"),
    [("ada", 20), ("cyd", 0), ("dora", 20), ("finn", 0), ("gil", 20)],
)
def test_a_notebook_gets_its_points(student: str, points: int, gradebook: Gradebook) -> None:
    found = gradebook.find_submission_notebook(NAME, TOPIC, student)
    assert found.score == points
    assert found.max_score == 20
    assert not found.needs_manual_grade


def test_what_is_right_in_part_gets_a_part(gradebook: Gradebook) -> None:
    found = gradebook.find_submission_notebook(NAME, TOPIC, "ben")
    lost = {grade.cell.name for grade in found.grades if not grade.auto_score}
    assert "test_usage_counts_what_can_be_handed_out" in lost
    assert 10 < found.score < 20


def test_warnings_on_stderr_cost_nothing_and_show_nowhere(graded: NotebookClass) -> None:
    for cell in check_cells(graded.autograded("dora", LESSON)):
        assert [output["output_type"] for output in cell["outputs"]] == ["stream", "execute_result"]
        assert cell["outputs"][0]["name"] == "stdout"


def test_a_cell_says_what_its_check_came_to(graded: NotebookClass) -> None:
    def words(student: str) -> set[str]:
        cells = check_cells(graded.autograded(student, LESSON))
        return {"".join(cell["outputs"][0]["text"]).strip() for cell in cells}

    assert words("ada") == {"✓ passed, 1 of 1", "✓ passed, 2 of 2"}
    assert words("cyd") == {"– not started"}
    assert "✗ not passed, 0 of 1" in words("eve")
    assert all("cannot be loaded: line 1" in each for each in words("finn"))


def test_a_students_py_beside_the_notebook_stays_as_it_was(graded: NotebookClass) -> None:
    own = graded.folder / "autograded" / "dora" / TOPIC / f"{NAME}.py"
    assert own.read_text() == "mine = 1\n"


def test_the_feedback_has_no_line_of_a_suite_or_a_solution(graded: NotebookClass) -> None:
    for student in ("cyd", "eve"):
        page = re.sub(r"<[^>]+>", "", graded.feedback(student, LESSON))
        assert "test_allocation_takes_the_head" in page
        assert leaked(html.unescape(page)) == []


def test_whole_stories_have_no_line_of_a_suite_either(
    graded: NotebookClass, tmp_path: Path
) -> None:
    told = NotebookClass(tmp_path / "course")
    shutil.copytree(graded.folder, told.folder)
    configuration = told.folder / "nbgrader_config.py"
    text = configuration.read_text()
    configuration.write_text(text.replace('detail = "names"', 'detail = "stories"'))
    told.nbgrader("autograde", TOPIC, "--student", "eve", "--force")
    shown = all_text(told.autograded("eve", LESSON))
    assert "the engine: " in shown
    assert "The rule: " in shown
    assert leaked(shown) == []


def test_export_gives_every_students_points(graded: NotebookClass) -> None:
    graded.nbgrader("export")
    with (graded.folder / "grades.csv").open() as stream:
        rows = {row["student_id"]: row for row in csv.DictReader(stream)}
    assert float(rows["ada"]["score"]) == 20
    assert float(rows["cyd"]["score"]) == 0
    assert float(rows["ada"]["max_score"]) == 40


def test_a_lesson_that_was_not_handed_in_is_no_points(gradebook: Gradebook) -> None:
    found = gradebook.find_submission_notebook(OTHER.split("/")[1], TOPIC, "ada")
    assert found.score == 0
    assert not found.needs_manual_grade


def test_a_student_who_changes_locked_cells_and_points_gains_nothing(
    graded: NotebookClass, tmp_path: Path
) -> None:
    made = NotebookClass(tmp_path / "course")
    shutil.copytree(graded.folder, made.folder)
    path = made.hand_in("mal", LESSON, STUB)
    notebook = path.read_text()
    path.write_text(
        notebook.replace('"points": 1', '"points": 99').replace("# test_", "print(9) #")
    )
    made.nbgrader("autograde", TOPIC, "--student", "mal")
    with Gradebook(f"sqlite:///{made.folder}/gradebook.db") as gradebook:
        found = gradebook.find_submission_notebook(NAME, TOPIC, "mal")
        assert (found.score, found.max_score) == (0, 20)


def test_without_the_sandbox_there_is_no_grade_and_the_reason_is_told(
    graded: NotebookClass, tmp_path: Path
) -> None:
    made = NotebookClass(tmp_path / "course")
    shutil.copytree(graded.folder, made.folder)
    shutil.rmtree(made.folder / "autograded" / "ada")
    path = tmp_path / "bin"
    path.mkdir()
    text = made.folder / "nbgrader_config.py"
    text.write_text(f"import os\nos.environ['PATH'] = {str(path)!r}\n" + text.read_text())
    said = made.nbgrader("autograde", TOPIC, "--student", "ada", fails=True)
    assert "bwrap is not installed" in said
    assert "apt-get install bubblewrap" in said
    assert not (made.folder / "autograded" / "ada" / TOPIC).exists()


def test_graded_again_without_a_change_nothing_is_run(graded: NotebookClass) -> None:
    journal = graded.folder / ".vllmlings" / "journal.jsonl"
    before = journal.read_bytes()
    graded.nbgrader("autograde", TOPIC, "--student", "ada", "--force")
    assert journal.read_bytes() == before


@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")  # nbgrader's own
def test_what_the_grader_itself_failed_at_is_left_to_a_person_and_is_no_zero(
    graded: NotebookClass, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = NotebookClass(tmp_path / "course")
    shutil.copytree(graded.folder, made.folder)
    made.hand_in("hal", LESSON, WRONG + "\n# another one\n")
    broken = Verdict(LESSON, "grader_error", 0, 0, error=GraderError("the disk is full"))
    monkeypatch.setattr(sealed_execute, "_executor", lambda: FakeExecutor(broken))
    monkeypatch.chdir(made.folder)
    config = PyFileConfigLoader("nbgrader_config.py", path=str(made.folder)).load_config()
    answer = NbGraderAPI(config=config).autograde(TOPIC, "hal")
    assert answer["success"], answer
    with Gradebook(f"sqlite:///{made.folder}/gradebook.db") as gradebook:
        found = gradebook.find_submission_notebook(NAME, TOPIC, "hal")
        assert found.needs_manual_grade
        assert {grade.auto_score for grade in found.grades} == {None}
    shown = all_text(made.autograded("hal", LESSON))
    assert "the disk is full; your teacher will look at it" in shown
