"""Mermaid sequence diagrams as text: one line for each message, in their order."""

from __future__ import annotations

import re
import textwrap

_PARTICIPANT = re.compile(r"(?:participant|actor)\s+(?P<id>\w+)(?:\s+as\s+(?P<name>.+))?")
_MESSAGE = re.compile(
    r"(?P<left>\w+)\s*(?P<arrow>-->>|->>|-->|->|--x|-x|--\)|-\))\s*[+-]?(?P<right>\w+)\s*:\s*(?P<text>.*)"
)
_NOTE = re.compile(r"[Nn]ote\s+(?:over|left of|right of)\s+(?P<who>[\w, ]+?)\s*:\s*(?P<text>.*)")
_BLOCK = re.compile(r"(?P<kind>loop|alt|else|opt|par|and|rect|critical|break)\b\s*(?P<text>.*)")
_IGNORED = re.compile(r"(?:autonumber|activate|deactivate|title)\b.*")
_BREAK = re.compile(r"\s*<br\s*/?>\s*")


def draw_sequence(lines: list[str], width: int) -> str | None:
    """The diagram, its participants aligned, or None where it has something unknown.

    >>> print(draw_sequence(["S->>M: free(a)", "M-->>S: None", "Note over M: done"], 40))
    S ──▶ M  free(a)
    M ┄┄▶ S  None
             · done
    """
    names = {m["id"]: m["name"] or m["id"] for m in map(_PARTICIPANT.fullmatch, lines) if m}
    rows: list[tuple[str, str]] = []
    depth = 0
    for line in lines:
        indent = "  " * depth
        if _PARTICIPANT.fullmatch(line) or _IGNORED.fullmatch(line):
            continue
        if message := _MESSAGE.fullmatch(line):
            arrow = "┄┄▶" if message["arrow"].startswith("--") else "──▶"
            left, right = (names.get(message[end], message[end]) for end in ("left", "right"))
            rows.append((f"{indent}{left} {arrow} {right}", message["text"]))
        elif note := _NOTE.fullmatch(line):
            rows += [("", f"· {part}") for part in _BREAK.split(note["text"])]
        elif line == "end":
            depth = max(0, depth - 1)
        elif block := _BLOCK.fullmatch(line):
            inner = block["kind"] in ("else", "and")
            rows.append((f"{'  ' * (depth - inner)}{block['kind']} {block['text']}".rstrip(), ""))
            depth += not inner
        else:
            return None
    return "\n".join(_aligned(rows, width))


def _aligned(rows: list[tuple[str, str]], width: int) -> list[str]:
    column = max((len(left) for left, text in rows if text), default=0)
    drawn: list[str] = []
    for left, text in rows:
        folded = textwrap.wrap(_BREAK.sub(", ", text), max(width - column - 2, 20)) or [""]
        drawn.append(f"{left.ljust(column)}  {folded[0]}".rstrip())
        drawn += [" " * (column + 4) + rest for rest in folded[1:]]
    return drawn
