"""An exam before it is taken: brief, scenarios with this learner's numbers, and questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml
from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.syntax import Syntax
from rich.text import Text

from grader.capstone.draw import Exam
from grader.capstone.exam import reading
from grader.capstone.predictions import form
from grader.capstone.scenario import Scenario
from grader.report.words import commands, counted


def exam_page(exam: Exam, diff: RenderableType) -> RenderableType:
    """Everything that a learner needs to answer."""
    capstone = exam.capstone
    parts: list[RenderableType] = [Markdown(capstone.brief), Text(), diff]
    kinds = dict.fromkeys(scenario.kind for scenario in exam.scenarios.values())
    parts += [Markdown(text) for kind in kinds if (text := reading(kind))]
    parts += [Text(), Text("The scenarios", style="head")]
    if exam.student is not None:
        parts.append(Text(f"drawn for {exam.student}", style="quiet"))
    for scenario in exam.scenarios.values():
        parts += [Text(), *_scenario(scenario)]
    parts += [Text(), Text("The questions", style="head"), *_questions(exam)]
    student = f" --student {exam.student}" if exam.student else ""
    parts += [
        Text(),
        commands(
            (f"vllmlings capstone predict {capstone.number}{student}", "a file to fill in"),
            (f"vllmlings capstone grade {capstone.number}{student}", "lock it in, see the truth"),
        ),
    ]
    return Group(*parts)


def _scenario(scenario: Scenario) -> Iterator[RenderableType]:
    yield Text.assemble((scenario.name, "name"), f"  {scenario.title}")
    if scenario.fakes:
        yield Text(f"Faked: {' '.join(scenario.fakes.split())}", style="wait")
    if told := scenario.described:
        yield Text(told)
    yield Padding(Syntax(_yaml(scenario.inputs), "yaml", theme="ansi_dark", **_PLAIN), (0, 2))
    changed = {side: said["engine"] for side, said in scenario.sides.items() if said.get("engine")}
    for side, engine in changed.items():
        wanted = ", ".join(f"{name}: {_value(value)}" for name, value in engine.items())
        yield Text(f"  {side} the change this stands for its behaviour: {wanted}", style="quiet")


_PLAIN: dict[str, Any] = {"background_color": "default", "word_wrap": True}


def _questions(exam: Exam) -> Iterator[RenderableType]:
    for question in exam.capstone.questions:
        yield Text.assemble(
            (f"{question.id}", "name"), (f"  {question.scenario}, ", "quiet"),
            (counted(question.points, "point"), "quiet"),
        )  # fmt: skip
        yield Padding(Text(f"{question.text}\nAnswer: {form(question)}"), (0, 2))


def _yaml(inputs: Mapping[str, Any]) -> str:
    """As it would be written by hand: one request a line."""
    lines = []
    for name, value in inputs.items():
        if isinstance(value, list) and all(isinstance(one, dict) for one in value):
            lines.append(f"{name}:")
            lines += [f"  - {_flow(one)}" for one in value]
        else:
            lines.append(f"{name}: {_flow(value)}")
    return "\n".join(lines)


def _flow(value: object) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10**6)
    return text.removesuffix("...\n").strip()


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
