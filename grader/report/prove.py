"""Proofs as a table, one row a lesson, and their shortfalls in lines."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from grader.prove.proof import Proof, RealEngine, Tally
from grader.report.words import counted

REAL = {
    "passed": Text("✓", "good"),
    "failed": Text("✗", "bad"),
    "missing": Text("✗ none", "bad"),
    "not_drivable": Text("not drivable", "wait"),
    "not_asked": Text("–", "quiet"),
}


def proofs_page(proofs: Sequence[Proof]) -> RenderableType:
    """The table, and why a real engine was not driven or skipped a check."""
    parts: list[RenderableType] = [_table(proofs), Text()]
    parts += [Text(line) for proof in proofs for line in _notes(proof.lesson, proof.real)]
    return Group(*parts, _sum(proofs))


def shortfall_lines(proofs: Sequence[Proof]) -> list[str]:
    """What falls short, each in one line, however long: it is to be searched and copied."""
    return [f"✗ {one}" for proof in proofs for one in proof.shortfalls]


def _table(proofs: Sequence[Proof]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("lesson", style="name", no_wrap=True)
    titles = ("stub\nfails", "as\ncut", "solu-\ntion", "alter-\nnatives", "mutants\nkilled")
    for title in (*titles, "real\nvLLM", "text"):
        table.add_column(title, justify="center", no_wrap=True)
    for proof in proofs:
        table.add_row(
            proof.lesson,
            _mark(proof.stub_fails),
            _mark(proof.stub_agrees),
            _mark(proof.solution_passes),
            _tally(proof.alternatives),
            _tally(proof.mutants),
            REAL[proof.real.outcome],
            _mark(proof.text_complete),
        )
    return table


def _mark(holds: bool) -> Text:
    return Text("✓", "good") if holds else Text("✗", "bad")


def _tally(tally: Tally) -> Text:
    words = f"{tally.good}/{tally.all}"
    return Text(words, "good") if tally.holds else Text(f"✗ {words}", "bad")


def _notes(lesson: str, real: RealEngine) -> list[str]:
    notes = [f"{lesson}: the real vLLM skips {name}: {why}" for name, why in real.skips.items()]
    if real.reason:
        notes.append(f"{lesson}: not drivable on a CPU: {real.reason}")
    return notes


def _sum(proofs: Sequence[Proof]) -> Text:
    proven = sum(proof.holds for proof in proofs)
    killed = sum(proof.mutants.good for proof in proofs)
    mutants = sum(proof.mutants.all for proof in proofs)
    text = Text(f"{proven} of {counted(len(proofs), 'lesson')} proven", style="head")
    text.append(f" · {killed} of {counted(mutants, 'mutant')} killed", style="default")
    return text
