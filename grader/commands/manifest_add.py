"""`vllmlings manifest add`: note symbols of the pinned release in `symbols.yaml`."""

from __future__ import annotations

import click


@click.command("add")
@click.argument("wanted", metavar="[SYMBOL...]", nargs=-1)
@click.option("--all-cited", is_flag=True, help="All that the course cites, and nothing else.")
def command(wanted: tuple[str, ...], all_cited: bool) -> None:
    """Note each SYMBOL as the pinned release has it, so that a text can cite it.

    SYMBOL is what `vllmlings source` takes: block_pool.py#BlockPool, or BlockPool.touch. The link
    to cite it with is printed.

    Exit code: 0 noted, 1 the release has no such symbol, 2 wrong use.
    """
    from grader.commands.releases import listener, told_plainly
    from grader.files import write_atomically
    from grader.report.source import link
    from manifest import pins, symbols
    from manifest.cited import cited
    from manifest.finding import Finder
    from manifest.noting import note
    from manifest.published import published

    if bool(wanted) is all_cited:
        raise click.UsageError("name the symbols to note, or give --all-cited")
    with told_plainly(), listener() as hears, published(listener=hears) as release:
        if all_cited:
            keys = list(cited())
        else:
            finder = Finder(release, symbols.load(), pins.load().version)
            keys = [finder.find(one).key for one in wanted]
        noted = note(symbols.load(), symbols.Source(release), keys, only=all_cited)
    write_atomically(symbols.SYMBOLS_FILE, symbols.dump(noted.symbols.values()))
    symbols.load.cache_clear()
    _seal(keys)
    for key in (*keys,) if wanted else noted.added:
        if key in noted.symbols:
            click.echo(link(noted.symbols[key]))
    told = [f"{len(noted.symbols):,} symbols"]
    for word in ("added", "changed", "dropped"):
        there: tuple[str, ...] = getattr(noted, word)
        told += [f"{len(there)} {word}"] if there else []
    click.echo(f"{symbols.SYMBOLS_FILE.name}: {', '.join(told)}")
    if noted.missing:
        raise click.ClickException(f"not in vLLM {release.version}: {', '.join(noted.missing)}")


def _seal(keys: list[str]) -> None:
    """What was just read from the release holds: `manifest check` need not read it again."""
    from dataclasses import replace

    from grader.files import write_atomically
    from manifest import seal
    from manifest.check import Manifest

    manifest = Manifest.load()
    now, sealed = manifest.sealed(), manifest.seal
    if (sealed.version, sealed.record) != (now.version, now.record):
        return
    kept = {key: digest for key, digest in sealed.digests.items() if key in now.digests}
    read = {key: now.digests[key] for key in keys if key in now.digests}
    digests = dict(sorted((kept | read).items()))
    write_atomically(seal.SEAL_FILE, seal.dump(replace(sealed, digests=digests)))
