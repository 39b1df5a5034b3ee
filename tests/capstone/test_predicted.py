"""Predictions are plain data, read strictly; every wrong field is told."""

from pathlib import Path

import pytest
import yaml

from grader.capstone.draw import exam_of
from grader.capstone.exam import capstone
from grader.capstone.predictions import BadPredictions, checked, read_predictions, template

EXAM = exam_of(capstone(3))


def test_the_file_to_fill_in_asks_every_question_and_is_valid(tmp_path: Path) -> None:
    path = tmp_path / "3.yaml"
    path.write_text(template(EXAM))
    assert set(yaml.safe_load(path.read_text())["answers"]) == {
        question.id for question in EXAM.capstone.questions
    }
    assert read_predictions(path, EXAM).answers == {}


def test_answers_are_read_by_the_kind_of_the_question() -> None:
    answers = {
        "a_finishes_before": "never",
        "a_puts_out_before": 8,
        "a_ends_after": "length",
        "other_finish_steps": ["a", "d"],
        "repeats_finish_steps": [],
        "d_finishes_after": None,
    }
    read = checked({"capstone": 3, "student": None, "answers": answers}, EXAM, "3.yaml")
    assert read.answers == {
        "a_finishes_before": None,
        "a_puts_out_before": 8,
        "a_ends_after": "length",
        "other_finish_steps": ["a", "d"],
        "repeats_finish_steps": [],
    }


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        ({"a_puts_out_before": True}, "answers.a_puts_out_before: got true; allowed: a whole"),
        ({"a_puts_out_before": 8.0}, "got 8.0; allowed: a whole number, or never"),
        ({"a_puts_out_before": 10**30}, "a whole number of 100 bits"),
        ({"a_ends_after": "sometime"}, "allowed: one of length, stop, repetition, never"),
        ({"a_ends_after": ["length"]}, "allowed: one of length"),
        ({"other_finish_steps": "a"}, 'got "a"; allowed: a list of ids in any order'),
        ({"other_finish_steps": ["a", "a"]}, "the same id twice"),
        ({"other_finish_steps": [1]}, "allowed: a list of ids"),
        ({"other": 3}, "answers.other: no such question"),
        ([], "answers: got []; allowed: a mapping by question"),
    ],
)
def test_a_wrong_answer_s_form_is_told_with_its_field(answers: object, problem: str) -> None:
    with pytest.raises(BadPredictions) as caught:
        checked({"capstone": 3, "student": None, "answers": answers}, EXAM, "3.yaml")
    assert problem in str(caught.value)
    assert str(caught.value).startswith("3.yaml: answers")


def test_all_that_is_wrong_is_told_at_once() -> None:
    data = {"capstone": 2, "student": "ada", "answers": {"x": 1}, "note": 1}
    with pytest.raises(BadPredictions) as caught:
        checked(data, EXAM, "3.yaml")
    assert len(caught.value.problems) == 4


@pytest.mark.parametrize("text", ["answers: {a: 1, a: 2}", "- 1", "!!python/name:os.system x", "["])
def test_a_file_that_is_no_plain_yaml_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "3.yaml"
    path.write_text(text)
    with pytest.raises(BadPredictions, match=r"3\.yaml"):
        read_predictions(path, EXAM)
