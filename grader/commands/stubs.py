"""`vllmlings stubs`: write each exercise's stub from its solution, or check that they agree."""

import click

from grader import stub
from grader.lessons import ROOT


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; end with 1 when a stub differs.")
def command(check: bool) -> None:
    """Write the exercises' stubs from the solutions.

    This overwrites what stands in exercises/: it is for authors of lessons, not for learners.
    """
    try:
        paths = [lesson.stub for lesson in stub.differing()] if check else stub.write_all()
    except stub.StubError as error:
        raise click.ClickException(str(error)) from error
    for path in paths:
        shown = path.relative_to(ROOT)
        click.echo(f"{shown}: differs from its solution's stub" if check else f"wrote {shown}")
    if check and paths:
        click.echo("`vllmlings stubs` writes them anew from the solutions.", err=True)
        raise SystemExit(1)
