"""`vllmlings manifest repin`: read the course from another release from now on."""

from __future__ import annotations

import sys

import click


@click.command("repin")
@click.argument("release")
@click.option("--map", "maps", metavar="OLD=NEW", multiple=True, help="What a citation becomes.")
@click.option("--drop", "drops", metavar="KEY", multiple=True, help="No longer cite this.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
def command(release: str, maps: tuple[str, ...], drops: tuple[str, ...], dry_run: bool) -> None:
    """Move the pin to RELEASE: rewrite the manifest and the texts' citations, all or nothing.

    As long as a symbol or fact is gone, nothing is changed. Say what it is now with --map
    (for a fact: --map fact:NAME=FILE#NAME), or drop it; its links then become plain text.
    """
    from grader.report.console import make_console, show
    from grader.report.manifest import blocked_page, repinned_page
    from manifest.edits import write_together
    from manifest.errors import SourceError
    from manifest.repin import Blocked, Decisions, plan

    wrong = [one for one in maps if not all(one.partition("="))]
    if wrong:
        raise click.UsageError(f"--map {wrong[0]}: say it as OLD=NEW")
    chosen = Decisions({old: new for old, _, new in (one.partition("=") for one in maps)}, drops)
    try:
        with make_console(stderr=True).status("Reading both releases…"):
            repinned = plan(release, chosen)
        if not dry_run:
            write_together(repinned.contents)
    except Blocked as blocked:
        show(blocked_page(release, blocked), whole_lines=True)
        sys.exit(1)
    except (SourceError, OSError) as error:
        raise click.ClickException(str(error)) from error
    show(repinned_page(repinned, dry_run))
