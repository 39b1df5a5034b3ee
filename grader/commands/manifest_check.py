"""`vllmlings manifest check`: do citations and facts hold at the pin?"""

from __future__ import annotations

import sys

import click


@click.command("check")
@click.option(
    "--live", is_flag=True, help="Read all of it from the release itself, and note what holds."
)
def command(live: bool) -> None:
    """Do all citations resolve, and are all facts of the texts right, at the pinned release?

    Without --live no network is needed: what was last found to hold there is noted, entry by
    entry, and no entry may have changed since.
    """
    from grader.files import write_atomically
    from grader.report.console import show
    from grader.report.manifest import check_page
    from manifest import check, seal
    from manifest.errors import SourceError

    manifest = check.Manifest.load()
    try:
        problems = check.check_live(manifest) if live else check.check(manifest)
    except SourceError as error:
        raise click.ClickException(str(error)) from error
    sealed = manifest.sealed()
    noted = live and not problems and sealed != manifest.seal
    if noted:
        write_atomically(seal.SEAL_FILE, seal.dump(sealed))
    show(check_page(manifest, problems, live, noted), whole_lines=True)
    sys.exit(1 if problems else 0)
