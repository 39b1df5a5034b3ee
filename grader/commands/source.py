"""`vllmlings source`: vLLM's own code at the pinned release, read from its published wheel."""

from __future__ import annotations

from typing import Any

import click


class SymbolName(click.ParamType[str]):
    """What names a piece of vLLM's source; the shell completes what the course cites."""

    name = "symbol"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:  # noqa: ARG002 (click's signature)
        return str(value)

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[Any]:  # noqa: ARG002
        from click.shell_completion import CompletionItem

        from manifest import symbols

        return [
            CompletionItem(symbol.name, help=symbol.file)
            for symbol in symbols.load().values()
            if symbol.name and symbol.name.startswith(incomplete)
        ]


@click.command("source")
@click.argument("wanted", metavar="[SYMBOL|FILE]", type=SymbolName(), required=False)
@click.option("--context", type=click.IntRange(0), default=0, metavar="N", help="N lines around.")
@click.option("--release", metavar="X", help="Of another release, such as 0.31.0.")
@click.option("--all-cited", is_flag=True, help="Fetch all that the course cites, for later.")
@click.option("--no-pager", is_flag=True, help="Print everything at once.")
def command(
    wanted: str | None, context: int, release: str | None, all_cited: bool, no_pager: bool
) -> None:
    """Show the real code: BlockPool.touch, block_pool.py, block_pool.py:120-160,
    vllm.v1.core.block_pool.BlockPool.

    It is fetched from vLLM's published wheel, that file alone, checked against the course's
    manifest, and kept, so that the next time needs no network.

    Exit code: 0 shown or fetched, 1 not found or not to be had, 2 wrong use.
    """
    if (wanted is None) is not all_cited:
        raise click.UsageError("name one symbol or file, such as BlockPool, or give --all-cited")
    if wanted is None:
        _fetch_all(release)
    else:
        _show(wanted, context, release, no_pager)


def _show(wanted: str, context: int, version: str | None, no_pager: bool) -> None:
    from grader.commands.releases import listener, told_plainly
    from grader.report.pager import show_or_page
    from grader.report.source import source_page, widest
    from manifest import pins, symbols
    from manifest.cited import cited
    from manifest.finding import Finder
    from manifest.published import published

    with told_plainly(), listener() as hears, published(version, hears) as release:
        finder = Finder(release, symbols.load(), pins.load().version)
        excerpt = finder.find(wanted)
    places = cited().get(excerpt.key, ())
    lessons = tuple(dict.fromkeys(one.lesson for one in places if one.lesson))
    show_or_page(source_page(excerpt, context, lessons), widest(excerpt), no_pager)


def _fetch_all(version: str | None) -> None:
    from grader.commands.releases import counting, listener, told_plainly
    from manifest import symbols
    from manifest.errors import NoSuchFile
    from manifest.published import published

    files = sorted({symbol.file for symbol in symbols.load().values()})
    size, gone = 0, []
    with (
        told_plainly(),
        listener() as hears,
        published(version, hears) as release,
        counting(len(files), "fetching") as progress,
    ):
        for file in files:
            try:
                size += len(release.read(file))
            except NoSuchFile:
                gone.append(file)
            progress.advance(progress.task_ids[0])
        # For what is named by the end of its path alone.
        release.names()
    there = len(files) - len(gone)
    click.echo(
        f"{there} files of vLLM {release.version}, {size / 1e6:.1f} MB, are at hand offline."
    )
    for file in gone:
        click.echo(f"not in vLLM {release.version}: {file}", err=True)
