"""What `vllmlings manifest check` and `repin` say."""

from __future__ import annotations

import shlex

from rich.console import Group, RenderableType
from rich.text import Text

from grader.report.drift import lessons_to_review
from manifest.check import Manifest, Problem
from manifest.repin import Blocked, Repinned


def check_page(
    manifest: Manifest, problems: list[Problem], live: bool, noted: bool
) -> RenderableType:
    """All problems, one a line; or what holds."""
    if problems:
        count = Text(f"{len(problems)} of the manifest's statements do not hold.", style="bad")
        return Group(*(_to_copy(str(problem), "") for problem in problems), count)
    source = "read from the release" if live else "as last read from the release"
    lines = [
        Text.assemble(("✓ ", "good"), f"vLLM {manifest.pins.version}, {source}"),
        Text(f"  {manifest.citation_count} citations of {len(manifest.symbols)} symbols resolve"),
        Text(f"  {manifest.fact_link_count} links to facts state their values"),
        Text(f"  {len(manifest.facts)} facts are what their probes read"),
    ]
    if noted:
        lines.append(Text("  noted in manifest/seal.yaml"))
    return Group(*lines)


def blocked_page(version: str, blocked: Blocked) -> RenderableType:
    """Each obstacle, and what may be added to the command."""
    lines = [Text(f"Nothing was changed: {blocked}.", style="bad"), Text()]
    for one in blocked.obstacles:
        lines.append(Text.assemble((one.key, "name"), f"  {one.problem}"))
        lines += [_to_copy(f"  --map {shlex.quote(f'{one.key}={key}')}") for key in one.offers]
        lines += [_to_copy(f"  --drop {shlex.quote(one.key)}"), Text()]
    return Group(
        *lines,
        Text(f"Add one of these for each to: vllmlings manifest repin {version}"),
        Text("--map OLD=NEW takes any other place, too. A fact that is read in another way now"),
        Text("needs another probe in manifest/facts.yaml, in place of either."),
    )


def repinned_page(repinned: Repinned, dry_run: bool) -> RenderableType:
    """What was written, and what a person has to look at."""
    drift = repinned.drift
    head = "would move" if dry_run else "has moved"
    parts: list[RenderableType] = [
        Text.assemble(("✓ ", "good"), f"The pin {head} from vLLM {drift.old} to {drift.new}."),
        Text(f"  {len(repinned.contents)} files {'would be' if dry_run else 'are'} rewritten"),
    ]
    parts += [Text(f"  dropped: {key}") for key in repinned.dropped]
    parts += [Text(), lessons_to_review(drift), Text()]
    if repinned.naming:
        told = f"These name {drift.old}, or something that is written like it:"
        parts += [Text(told, style="head"), *(Text(f"  {name}") for name in repinned.naming)]
    return Group(*parts)


def _to_copy(line: str, style: str = "command") -> Text:
    """A line that stays one, however long it is."""
    return Text(line, style=style, no_wrap=True, overflow="ignore")
