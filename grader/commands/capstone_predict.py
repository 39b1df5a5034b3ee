"""`vllmlings capstone predict`: the file to fill in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from grader.commands.capstone_common import NUMBER, STUDENT, exam, predictions_file

if TYPE_CHECKING:
    from grader.capstone.draw import Exam
    from grader.capstone.questions import Question


@click.command("predict")
@NUMBER
@STUDENT
@click.option("--ask", is_flag=True, help="Ask question by question, here.")
@click.option("--anew", is_flag=True, help="Start anew; what was filled in is overwritten.")
def command(number: int, student: str | None, ask: bool, anew: bool) -> None:
    """Write predictions/N.yaml, in which each question waits for its answer."""
    from grader.capstone.predictions import template
    from grader.files import write_atomically
    from grader.places import shown

    chosen = exam(number, student)
    path = predictions_file(number, student)
    if path.exists() and not anew:
        raise click.ClickException(f"{shown(path)} is there already; --anew overwrites it")
    text = template(chosen)
    if ask:
        text = _asked(chosen, text)
    try:
        write_atomically(path, text)
    except OSError as error:
        raise click.ClickException(f"{shown(path)}: {error.strerror}") from error
    click.echo(f"{shown(path)}: {'answered' if ask else 'fill it in'}, then")
    click.echo(f"  vllmlings capstone grade {number}{f' --student {student}' if student else ''}")


def _asked(exam: Exam, text: str) -> str:
    """The file's text with what is answered here; an empty answer leaves a question open."""
    for question in exam.capstone.questions:
        answer = _answer(question)
        text = text.replace(f"\n  {question.id}:\n", f"\n  {question.id}: {answer}\n".rstrip(" "))
    return text


def _answer(question: Question) -> str:
    import yaml

    from grader.capstone.predictions import answer_of, form

    click.echo(f"\n[{question.scenario}] {question.text} ({question.points} points)")
    for word, meaning in question.choices:
        click.echo(f"  {word}: {meaning}")
    while True:
        answer = str(click.prompt(form(question), default="", show_default=False)).strip()
        if not answer:
            return ""
        try:
            answer_of(question, yaml.safe_load(answer))
        except (ValueError, yaml.YAMLError) as error:
            click.echo(" ".join(str(error).split()))
        else:
            return answer
