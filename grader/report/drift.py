"""What another release has changed: for a terminal, and as Markdown for an issue."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from manifest.drift import STATUSES, Drift, FactDrift, LessonDrift, SymbolDrift
from manifest.mentions import Mention

_STYLES = {"gone": "bad", "renamed": "wait", "changed": "wait", "moved": "quiet", "same": "quiet"}
_MEANINGS = {
    "gone": "nothing like it is there",
    "renamed": "found under another name",
    "changed": "other code",
    "moved": "the same code in another place",
    "unchanged": "as it was",
}


def drift_page(drift: Drift, everything: bool, seconds: float | None = None) -> RenderableType:
    """The summary, what is other code now, and the lessons to review; with `everything`, what has
    only moved or is unchanged, too."""
    parts: list[RenderableType] = [Text(f"vLLM {drift.old} → {drift.new}", style="head"), Text()]
    parts += [_summary(drift), Text()]
    quiet = () if everything else ("moved", "unchanged")
    rows = [one for status in STATUSES for one in drift.symbols if one.status == status]
    shown = [one for one in rows if one.status not in quiet]
    if shown:
        parts += [_symbols(shown), Text()]
    facts = drift.facts if everything else drift.changed_facts
    if facts:
        parts += [_facts(facts), Text()]
    parts += [lessons_to_review(drift), *_closing(drift, everything, seconds)]
    return Group(*parts)


def drift_markdown(drift: Drift) -> str:
    """The body of an issue."""
    lines = [f"What vLLM {drift.new} has changed in what the course cites of {drift.old}.", ""]
    lines += [f"- {count} {status}: {_MEANINGS[status]}" for status, count in _counts(drift)]
    lines += [f"- {len(drift.changed_facts)} of {len(drift.facts)} facts are other ones", ""]
    other = [one for one in drift.symbols if one.status not in ("moved", "unchanged")]
    if other:
        lines += ["| | symbol | at present | lines | likeness |", "|---|---|---|---|---|"]
        order = {status: number for number, status in enumerate(STATUSES)}
        for one in sorted(other, key=lambda row: order[row.status]):
            cells = [f"`{one.key}`", _code(_where(one)), _lines(one), _score(one)]
            lines.append(f"| {one.status} | {' | '.join(cells)} |")
        lines.append("")
    if drift.changed_facts:
        lines += ["| fact | what it is | was | is |", "|---|---|---|---|"]
        for fact in drift.changed_facts:
            new = fact.reason if fact.status == "gone" else f"`{fact.new!r}`"
            lines.append(f"| {fact.name} | {fact.says} | `{fact.old!r}` | {new} |")
        lines.append("")
    for lesson in drift.lessons:
        lines += [f"### {lesson.lesson}", ""]
        for line, keys, sentence in _told(lesson):
            file = lesson.sentences[0].file
            lines.append(f"- [ ] `{file}:{line}` {', '.join(keys)}: {sentence}")
        lines += [f"- [ ] {one} (no text states it yet)" for one in _unwritten(lesson)]
        lines.append("")
    if not drift.lessons:
        lines += ["No lesson needs a review.", ""]
    return "\n".join(lines)


def _counts(drift: Drift) -> Iterator[tuple[str, int]]:
    for status in STATUSES:
        yield status, drift.count(status)


def _summary(drift: Drift) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right")
    for status, count in _counts(drift):
        style = _STYLES.get(status, "good") if count else "quiet"
        table.add_row(Text(str(count), style=style), status, Text(_MEANINGS[status], style="quiet"))
    changed = len(drift.changed_facts)
    told = Text(f"of {len(drift.facts)} have another value, or cannot be read", style="quiet")
    table.add_row(Text(str(changed), style="wait" if changed else "quiet"), "facts", told)
    return table


def _symbols(rows: list[SymbolDrift]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="quiet")
    table.add_column("")
    table.add_column("symbol, and where it is at present", overflow="fold", ratio=1)
    table.add_column("lines", justify="right", no_wrap=True)
    table.add_column("like", justify="right", no_wrap=True)
    for one in rows:
        name = Text(one.old.name or one.old.file, style="name")
        name.append(f"\n{one.old.file}", style="quiet")
        if where := _where(one):
            name.append(f" {'→' if one.new else '· perhaps'} {where}", style="quiet")
        status = Text(one.status, style=_STYLES.get(one.status, ""))
        table.add_row(status, name, _lines(one), _score(one))
    return table


def _facts(facts: tuple[FactDrift, ...]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="quiet")
    table.add_column("fact", style="name", overflow="fold")
    table.add_column("what it is", ratio=1)
    table.add_column("was", overflow="fold")
    table.add_column("is", overflow="fold")
    for one in facts:
        new = Text("gone", style="bad") if one.status == "gone" else Text(repr(one.new))
        reason = Text(f"\n{one.reason}", style="quiet") if one.reason else Text()
        table.add_row(one.name, Text(one.says) + reason, repr(one.old), new)
    return table


def lessons_to_review(drift: Drift) -> RenderableType:
    """Each lesson that cites what is other code now, with its sentences and their lines."""
    if not drift.lessons:
        return Text("No lesson needs a review.", style="good")
    parts: list[RenderableType] = [Text("Lessons to review", style="head")]
    for lesson in drift.lessons:
        count = len({one.sentence for one in lesson.sentences})
        told = (
            f"{count} {'sentence' if count == 1 else 'sentences'}" if count else "not yet written"
        )
        parts.append(Text.assemble("  ", (lesson.lesson, "name"), f"  {told}"))
        sentences = Table.grid(padding=(0, 2, 0, 0))
        sentences.add_column(justify="right", min_width=7, style="quiet")
        sentences.add_column(ratio=1, overflow="fold")
        for line, keys, sentence in _told(lesson):
            text = Text(_short(sentence))
            text.append(f"  {', '.join(keys)}", style="quiet")
            sentences.add_row(str(line), text)
        parts.append(sentences)
    return Group(*parts)


def _closing(drift: Drift, everything: bool, seconds: float | None) -> Iterator[Text]:
    hidden = drift.count("moved") + drift.count("unchanged")
    yield Text()
    if hidden and not everything:
        yield Text(f"{hidden} that run as before are not shown; --all shows them.", style="quiet")
    if seconds is not None:
        count = len(drift.symbols) + len(drift.facts)
        yield Text(f"{count} entries compared in {seconds:.1f} s.", style="quiet")


def _told(lesson: LessonDrift) -> Iterator[tuple[int, list[str], str]]:
    """Each sentence once, with all that it cites of what has changed."""
    sentences: dict[tuple[int, str], list[Mention]] = {}
    for one in lesson.sentences:
        sentences.setdefault((one.line, one.sentence), []).append(one)
    for (line, sentence), found in sentences.items():
        keys = dict.fromkeys(one.key.rpartition("#")[2] or one.key for one in found)
        yield line, list(keys), sentence


def _unwritten(lesson: LessonDrift) -> list[str]:
    said = {one.key for one in lesson.sentences}
    return [key for key in lesson.keys if key not in said]


def _where(one: SymbolDrift) -> str:
    if one.new is None:
        return ", ".join(one.near)
    if one.left_its_file:
        return f"{one.new.key}:{one.new.first}-{one.new.last}"
    name = one.new.name if one.new.name != one.old.name else ""
    moved = (one.new.first, one.new.last) != (one.old.first, one.old.last)
    return f"{name} {one.new.first}-{one.new.last}".strip() if name or moved else ""


def _lines(one: SymbolDrift) -> str:
    return f"+{one.added} −{one.removed}" if one.added or one.removed else ""


def _score(one: SymbolDrift) -> str:
    return "" if one.score is None else f"{min(one.score, 0.99) if _lines(one) else one.score:.2f}"


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _short(sentence: str, most: int = 100) -> str:
    return sentence if len(sentence) <= most else f"{sentence[: most - 1]}…"
