"""A lesson's Markdown cut into what a terminal shows in different ways. Nothing is rendered."""

from __future__ import annotations

import re
from dataclasses import dataclass

from manifest.symbols import CITATION

_DETAILS = re.compile(r"<details>\s*<summary>(?P<question>.*?)</summary>(?P<answer>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Prose:
    """Markdown that needs nothing special."""

    text: str


@dataclass(frozen=True, slots=True)
class Picture:
    """The source of a Mermaid diagram."""

    source: str


@dataclass(frozen=True, slots=True)
class Question:
    """A `<details>` block: a question and its folded answer, both Markdown."""

    question: str
    answer: str


Piece = Prose | Picture | Question


def pieces(text: str) -> list[Piece]:
    """The text in order, cut at its pictures and questions.

    >>> pieces("A.\\n```mermaid\\nflowchart LR\\n```\\nB.")
    [Prose(text='A.'), Picture(source='flowchart LR'), Prose(text='B.')]
    """
    found: list[Piece] = []
    lines: list[str] = []
    kind = "prose"
    for line in text.splitlines():
        stripped = line.strip()
        if kind == "prose" and stripped == "```mermaid":
            _close(found, kind, lines)
            kind = "picture"
        elif kind == "prose" and stripped.startswith("<details>"):
            _close(found, kind, lines)
            lines.append(stripped)
            kind = "question"
        elif kind == "prose" and stripped.startswith("```"):
            lines.append(line)
            kind = "code"
        elif kind == "code":
            lines.append(line)
            kind = "prose" if stripped.startswith("```") else "code"
        elif (kind == "picture" and stripped == "```") or (
            kind == "question" and stripped.endswith("</details>")
        ):
            lines += [stripped.removesuffix("</details>")] if kind == "question" else []
            _close(found, kind, lines)
            kind = "prose"
        else:
            lines.append(line)
    _close(found, kind, lines)
    return found


def show_citations(text: str) -> str:
    """Links into vLLM's source as the symbol, with its file the first time.

    >>> show_citations("See [`touch`](vllm:vllm/v1/core/block_pool.py#BlockPool.touch).")
    'See `touch` *\\\\[vllm/v1/core/block_pool.py\\\\]*.'
    """
    told: set[str] = set()

    def shown(match: re.Match[str]) -> str:
        label, path = match["label"], match["path"]
        first = path not in told
        told.add(path)
        return f"{label} *\\[{path}\\]*" if first and path not in label else label

    return CITATION.sub(shown, text)


def _close(found: list[Piece], kind: str, lines: list[str]) -> None:
    """End the piece that `lines` make, and empty them."""
    text = "\n".join(lines).strip("\n")
    lines.clear()
    if not text.strip():
        return
    match = _DETAILS.fullmatch(text) if kind == "question" else None
    if match is not None:
        found.append(Question(match["question"].strip(), match["answer"].strip()))
    else:
        found.append(Picture(text) if kind == "picture" else Prose(text))
