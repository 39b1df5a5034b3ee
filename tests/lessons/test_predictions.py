"""What the lessons ask to predict: the answers are what the engine or the solution gives.

The form, in *Check yourself*: a `<!-- predict: EXPRESSION -->` between a question's summary and
its answer. `grader/prove/predictions.py` says what the expression may use.
"""

import pytest

from grader.lessons import Lesson, names
from grader.prove.predictions import Prediction, predictions
from manifest.course import load


def predictions_of(lesson: Lesson) -> list[Prediction]:
    return predictions(lesson.text.read_text(encoding="utf-8")) if lesson.text.is_file() else []


LESSONS = [Lesson(name) for name in names()]
ALL = [(lesson, one) for lesson in LESSONS for one in predictions_of(lesson)]


@pytest.mark.parametrize(
    ("lesson", "prediction"), ALL, ids=[f"{lesson.name}:{one.line}" for lesson, one in ALL]
)
def test_the_answer_is_what_comes_out(lesson: Lesson, prediction: Prediction) -> None:
    assert prediction.holds(lesson), f"{prediction.told} and {prediction.value(lesson)}"


@pytest.mark.parametrize("name", [lesson.path for lesson in load().written])
def test_each_written_lesson_asks_for_one(name: str) -> None:
    assert predictions_of(Lesson(name))
