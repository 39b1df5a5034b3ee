"""A lesson's text in the terminal: pictures as text, citations with their file, folded answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from running import Run

from grader.lessons import ROOT
from grader.lessons import Lesson as Files
from grader.report.console import show
from grader.report.lesson import lesson_page
from grader.report.lesson_text import Picture, Prose, Question, pieces, show_citations
from grader.report.mermaid import draw
from manifest.course import load
from manifest.symbols import load as load_symbols

TEXTS = sorted((ROOT / "exercises").glob("*/*.md"))


@pytest.mark.parametrize("file", TEXTS, ids=lambda file: file.stem)
def test_every_picture_of_the_course_is_drawn_within_80_columns(file: Path) -> None:
    pictures = [p for p in pieces(file.read_text(encoding="utf-8")) if isinstance(p, Picture)]
    assert pictures
    for picture in pictures:
        drawn = draw(picture.source, 78)
        assert drawn is not None
        assert max(map(len, drawn.splitlines())) <= 78


@pytest.mark.parametrize("file", TEXTS, ids=lambda file: file.stem)
def test_every_text_fits_80_columns(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    show(lesson_page(file.read_text(encoding="utf-8"), answers=True))
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_groups_are_chains_under_their_titles() -> None:
    source = """flowchart LR
      subgraph one["the free list"]
        direction LR
        a((6)) --> b["7 ✓"]
      end
      subgraph two["and then"]
        c((7))
      end
      one -- "popleft()" --> two"""
    assert (
        draw(source, 60)
        == """\
the free list
  (6) → [7 ✓]
    │ popleft()
    ▼
and then
  (7)"""
    )


def test_a_chain_too_wide_is_broken_before_an_arrow() -> None:
    assert draw("flowchart LR\n  alpha --> beta --> gamma", 16) == "alpha → beta\n  → gamma"


def test_labels_of_edges_stand_in_the_arrow() -> None:
    source = "flowchart TD\n  a[run] -->|yes| b{left?}\n  b -. later .-> a"
    assert draw(source, 60) == "[run] ─yes→ <left?>\n<left?> ─later⇢ [run]"


@pytest.mark.parametrize("source", ["", "pie\n  a: 1", "flowchart LR\n  a ~~~ b", "gantt"])
def test_what_is_unknown_is_not_drawn(source: str) -> None:
    assert draw(source, 60) is None


def test_an_unknown_picture_is_shown_as_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    show(lesson_page("```mermaid\npie\n  a: 1\n```", answers=False))
    shown = capsys.readouterr().out
    assert "  a: 1" in shown
    assert "GitHub and VS Code draw it" in shown


def test_a_citation_has_a_number_and_the_list_says_file_lines_and_size(
    capsys: pytest.CaptureFixture[str],
) -> None:
    key = "vllm/v1/core/block_pool.py#BlockPool.get_new_blocks"
    show(lesson_page(f"See [`get_new_blocks`](vllm:{key}).", answers=False))
    shown = capsys.readouterr().out
    symbol = load_symbols()[key]
    assert "See get_new_blocks [1]." in shown
    assert f"{symbol.file}, {symbol.file_lines:,} lines" in shown
    assert f"[1]  BlockPool.get_new_blocks  lines {symbol.first}–{symbol.last}" in shown


def test_a_citation_may_be_of_a_call_with_brackets(capsys: pytest.CaptureFixture[str]) -> None:
    link = "[`touch([1])`](vllm:vllm/v1/core/block_pool.py#BlockPool.touch)"
    assert show_citations(link).startswith("`touch([1])` *")
    for lesson in load().written:
        show(lesson_page(Files(lesson.path).text.read_text(encoding="utf-8"), answers=True))
        assert "(vllm:" not in capsys.readouterr().out, lesson.path


def test_questions_are_folded_until_the_answers_are_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = "<details><summary>How many?</summary>\n\nSeven.\n</details>"
    show(lesson_page(text, answers=False))
    folded = capsys.readouterr().out
    assert "▸ How many?" in folded
    assert "Seven" not in folded
    assert "--answers" in folded
    show(lesson_page(text, answers=True))
    assert "Seven." in capsys.readouterr().out


def test_code_may_hold_what_looks_like_a_question() -> None:
    text = "```html\n<details><summary>x</summary>\n</details>\n```\nend"
    assert [type(piece) for piece in pieces(text)] == [Prose]


def test_a_question_may_hold_code() -> None:
    text = "<details><summary>q</summary>\n\n```python\nx = 1\n```\n\n</details>\nafter"
    assert pieces(text) == [Question("q", "```python\nx = 1\n```"), Prose("after")]


def test_no_pager_is_needed_without_a_terminal(run: Run) -> None:
    assert run("read", "block_pool").out.startswith("Block pool\n══════════\n")
