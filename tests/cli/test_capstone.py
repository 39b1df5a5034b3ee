"""`vllmlings capstone`: nothing is shown before it is locked in, and the first attempt counts."""

from pathlib import Path

import pytest
import yaml
from running import Run

from grader.capstone.draw import exam_of
from grader.capstone.exam import capstone
from grader.capstone.marking import truths
from grader.capstone.predictions import template


def fill_in(home: Path, answers: dict[str, object], student: str | None = None) -> Path:
    path = home / "predictions" / f"3{f'.{student}' if student else ''}.yaml"
    path.parent.mkdir(exist_ok=True)
    data = {"capstone": 3, "student": student, "answers": answers}
    path.write_text(yaml.safe_dump(data))
    return path


def right(student: str | None = None) -> dict[str, object]:
    exam = exam_of(capstone(3), student)
    true = truths(exam.capstone.questions, exam.outcomes)
    return {name: "never" if truth is None else truth for name, truth in true.items()}


def test_the_list_tells_releases_and_what_was_never_tried(run: Run) -> None:
    listed = run("capstone", "list")
    assert listed.code == 0
    assert "0.28.0 → 0.29.0  ○ not started" in listed.out


def test_show_has_brief_scenarios_and_questions_and_not_the_truth(run: Run) -> None:
    page = run("capstone", "show", "3", "--no-diff")
    assert page.code == 0
    assert "In which order a request's end is checked" in page.out
    assert "How to read the scenarios" in page.out
    assert "max_model_len: 32" in page.out
    assert "other_admissions" in page.out
    assert "min_tokens_first" not in page.out


def test_a_student_is_shown_the_numbers_drawn_for_them(run: Run) -> None:
    pages = {run("capstone", "show", "3", "--no-diff", "--student", name).out for name in "abc"}
    assert len(pages) == 3


def test_predict_writes_a_file_once(run: Run, home: Path) -> None:
    assert run("capstone", "predict", "3").code == 0
    path = home / "predictions" / "3.yaml"
    assert path.read_text() == template(exam_of(capstone(3)))
    path.write_text("mine")
    again = run("capstone", "predict", "3")
    assert again.code == 1
    assert "--anew" in again.err
    assert path.read_text() == "mine"


def test_grade_shows_predictions_beside_the_truth(run: Run, home: Path) -> None:
    fill_in(home, right() | {"a_ends_after": "stop"})
    graded = run("capstone", "grade", "3")
    assert graded.code == 0
    assert "90 of 100 points" in graded.out
    assert any("stop" in line and "length" in line for line in graded.out.splitlines())
    assert "✓ 90/100" in run("capstone", "list").out


def test_the_first_attempt_counts(run: Run, home: Path) -> None:
    fill_in(home, {"a_ends_after": "length"})
    assert "10 of 100" in run("capstone", "grade", "3").out
    fill_in(home, right())
    second = run("capstone", "grade", "3")
    assert "100 of 100" in second.out
    assert "first attempt" in second.out
    assert "✓ 10/100" in run("capstone", "list").out


def test_a_wrong_field_is_told_and_nothing_is_locked_in(run: Run, home: Path) -> None:
    fill_in(home, {"a_ends_after": "soon"})
    graded = run("capstone", "grade", "3")
    assert (graded.code, graded.out) == (1, "")
    assert "answers.a_ends_after: got" in graded.err
    assert run("capstone", "explain", "3").code == 1


def test_nothing_is_explained_before_it_is_graded(run: Run, home: Path) -> None:
    early = run("capstone", "explain", "3")
    assert early.code == 1
    assert "locked in" in early.err
    fill_in(home, right())
    run("capstone", "grade", "3")
    explained = run("capstone", "explain", "3")
    assert explained.code == 0
    assert "What the order does" in explained.out


def test_a_student_s_exam_is_graded_with_its_own_truth(run: Run, home: Path) -> None:
    fill_in(home, right("ada"), "ada")
    assert "100 of 100" in run("capstone", "grade", "3", "--student", "ada").out


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("grade", "3"), "capstone predict 3 writes it"),
        (("show", "99"), "99: no such capstone"),
        (("grade", "0"), "0"),
        (("show", "3", "--student", "\x1b[2J"), "--student"),
        (("measure",), "--all"),
    ],
)
def test_a_wrong_use_is_told_in_one_line(run: Run, args: tuple[str, ...], said: str) -> None:
    ended = run("capstone", *args)
    assert ended.code == 2
    assert said in ended.err
