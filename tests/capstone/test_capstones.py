"""What every capstone in the course's folder must be."""

import json

import pytest

from grader.capstone.change import read_change
from grader.capstone.draw import dull, exam_of
from grader.capstone.exam import Capstone, UnknownCapstone, capstone, capstones
from grader.capstone.grade import grade
from grader.capstone.guesses import GUESSES_AT_MOST, guesses
from grader.capstone.marking import truths
from grader.capstone.measure import differing_facts, plain, recorded, scenario_sha256
from grader.capstone.scenario import SIDES

ALL = capstones()
EACH = pytest.mark.parametrize("one", ALL, ids=[str(one.number) for one in ALL])
STUDENTS = ("ada", "grace", "alan", "edsger")


@EACH
def test_it_has_three_scenarios_six_questions_and_its_texts(one: Capstone) -> None:
    assert len(one.scenarios) >= 3
    assert len(one.questions) >= 6
    assert one.brief.startswith("# ")
    assert one.after.startswith("# ")
    assert one.points == 100


@EACH
def test_the_change_shows_in_one_scenario_and_not_in_another(one: Capstone) -> None:
    exam = exam_of(one)
    matters = {scenario.matters for scenario in exam.scenarios.values()}
    assert matters == {True, False}
    assert dull(exam) == ""


@EACH
def test_each_question_is_about_a_scenario_and_its_truth_has_the_form_of_an_answer(
    one: Capstone,
) -> None:
    exam = exam_of(one)
    true = truths(one.questions, exam.outcomes)
    for question in one.questions:
        truth = true[question.id]
        if question.kind in ("list", "set", "order"):
            assert isinstance(truth, list)
        if question.kind == "choice":
            assert truth in dict(question.choices)
    assert {question.scenario for question in one.questions} <= set(one.scenarios)


@EACH
def test_who_knows_the_truth_has_all_points(one: Capstone) -> None:
    exam = exam_of(one)
    assert grade(exam, truths(one.questions, exam.outcomes)).points == one.points


@EACH
def test_who_answers_without_thinking_has_less_than_two_fifths(one: Capstone) -> None:
    exam = exam_of(one)
    earned = guesses(one.questions, exam.outcomes, truths(one.questions, exam.outcomes))
    assert set(earned) == {"nothing changes", "after equals before", "random answers"}
    assert max(earned.values()) < GUESSES_AT_MOST * one.points, earned


@EACH
def test_what_the_real_code_of_both_releases_did_is_what_the_model_does(one: Capstone) -> None:
    measured = recorded(one)
    change = read_change(one.diff_file)
    assert (measured["before"], measured["after"]) == (change.before, change.after)
    assert set(measured["scenarios"]) == set(one.scenarios)
    for name, scenario in one.scenarios.items():
        of_scenario = measured["scenarios"][name]
        assert of_scenario["sha256"] == scenario_sha256(one, name), "measure it again"
        for side in SIDES:
            facts = plain(scenario.run(side).facts)
            assert not list(differing_facts(facts, of_scenario[side])), (name, side)


@EACH
def test_each_student_has_an_exam_of_their_own_and_always_the_same(one: Capstone) -> None:
    exams = [exam_of(one, student) for student in STUDENTS]
    inputs = [
        json.dumps([dict(scenario.inputs) for scenario in exam.scenarios.values()])
        for exam in exams
    ]
    assert len(set(inputs)) == len(STUDENTS)
    again = exam_of(one, STUDENTS[0])
    assert again.scenarios == exams[0].scenarios
    assert all(dull(exam) == "" for exam in exams)


def test_a_number_that_is_none_is_told() -> None:
    with pytest.raises(UnknownCapstone, match="99: no such capstone; there are"):
        capstone(99)
