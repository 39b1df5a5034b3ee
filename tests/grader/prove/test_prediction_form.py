"""Answers to be predicted: what a text tells in bold is what its expression gives."""

from pathlib import Path

import pytest

from grader.lessons import Lesson
from grader.prove.predictions import Prediction, predictions

TEXT = """\
## Check yourself

<details><summary>Not computed?</summary>

**3**.
</details>

<details><summary>Computed?</summary>
<!-- predict: [1,
     2] -->

**1** and **2**.
</details>
"""


@pytest.fixture
def lesson(tmp_path: Path) -> Lesson:
    lesson = Lesson("toy/one", tmp_path)
    lesson.solution.parent.mkdir(parents=True)
    lesson.solution.write_text("def double(x):\n    return 2 * x\n")
    workload = tmp_path / "exercises" / "workloads" / "small.yaml"
    workload.parent.mkdir(parents=True)
    workload.write_text("requests: [{id: a, prompt: [1, 2, 3], max_tokens: 2}]\n")
    return lesson


def test_only_questions_with_an_expression_are_predictions() -> None:
    (found,) = predictions(TEXT)
    assert (found.line, found.expression, found.told) == (8, "[1, 2]", ["1", "2"])


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ("lesson.double(4)", "It is **8**, not 4."),
        ('run("small").steps[0].num_scheduled_tokens', "Step 0 computes **3** tokens."),
        ("[1, (2, {'a': 3})]", "**1 2 3**"),
        ("1234567", "**1,234,567 tokens**"),
        ("2 / 7", "**0.29**"),
        ("'b4', 'a1'", "`b4` is first: **b4**, then **`a1`**."),
    ],
)
def test_these_hold(lesson: Lesson, expression: str, answer: str) -> None:
    assert Prediction(1, expression, answer).holds(lesson)


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ("8", "It is **9**."),
        ("8", "It is 8."),
        ("[1, 2]", "**2 1**"),
        ("[1, 2]", "**1**"),
        ("2 / 7", "**0.28**"),
        ("'b4'", "**b5**"),
    ],
)
def test_these_do_not(lesson: Lesson, expression: str, answer: str) -> None:
    assert not Prediction(1, expression, answer).holds(lesson)
