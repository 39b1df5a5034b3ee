"""`vllmlings glossary`: a term in one line."""

from __future__ import annotations

import click


@click.command("glossary")
@click.argument("words", metavar="[TERM]", nargs=-1)
@click.option("--lesson", metavar="LESSON", help="Only the terms that this lesson teaches.")
def command(words: tuple[str, ...], lesson: str | None) -> None:
    """What TERM means, and which lesson teaches it; without it, all terms."""
    from grader.report.console import show
    from grader.report.glossary import glossary_page, term_page
    from manifest import course, glossary

    terms = glossary.load()
    if words:
        word = " ".join(words)
        try:
            show(term_page(terms.find(word)))
        except glossary.UnknownTerm as error:
            holding = terms.holding(word)
            if not holding:
                raise click.UsageError(f"{error} (all of them: vllmlings glossary)") from error
            show(glossary_page(holding))
        return
    if lesson is None:
        show(glossary_page(terms.terms))
        return
    try:
        path = course.load().lesson(lesson).path
    except course.UnknownName as error:
        raise click.UsageError(f"{error} (all of them: vllmlings list)") from error
    found = terms.of_lesson(path)
    if not found:
        raise click.UsageError(f"{path}: no term of the glossary is taught there yet")
    show(glossary_page(found))
