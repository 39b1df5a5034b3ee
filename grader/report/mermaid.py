"""Mermaid pictures as text: flow charts as chains under the titles of their groups.

Understood is what the lessons use: `flowchart`, `subgraph`, chains of nodes and edges with
labels, and sequence diagrams (`mermaid_sequence`). Anything else is left to those who draw it.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, field

from grader.report.mermaid_sequence import draw_sequence

_SUBGRAPH = re.compile(r'subgraph\s+(?P<id>[\w.]+)(?:\s*\[\s*"?(?P<title>.*?)"?\s*\])?')
_NODE = re.compile(
    r"(?P<id>\w+)"
    r"(?:\(\((?P<circle>.*?)\)\)|\(\[(?P<stadium>.*?)\]\)|\[(?P<box>.*?)\]|\{(?P<choice>.*?)\}"
    r"|\((?P<round>.*?)\))?(?:::: ?\w+)?"
)
_EDGE = re.compile(
    r"\s*(?:"
    r"(?:--|==|-\.)\s*(?P<within>\"[^\"]*\"|[^-=.>|\s][^->|]*?)\s*(?P<tail>-->|---|==>|\.->)"
    r"|(?P<plain>-->|---|==>|-\.->)(?:\|(?P<beside>[^|]*)\|)?"
    r")\s*"
)
_ARROWS = {"-->": "→", "---": "─", "==>": "⇒", "-.->": "⇢", ".->": "⇢"}
_SHAPES = {
    "circle": "({})",
    "stadium": "({})",
    "round": "({})",
    "box": "[{}]",
    "choice": "<{}>",
}
_IGNORED = ("direction ", "classDef ", "class ", "style ", "linkStyle ", "%%")


@dataclass(slots=True)
class _Chain:
    """Nodes of one statement with the edges between them: `(arrow, label)`."""

    nodes: list[str]
    edges: list[tuple[str, str]]


@dataclass(slots=True)
class _Group:
    title: str
    chains: list[_Chain] = field(default_factory=list)


@dataclass(slots=True)
class _Chart:
    groups: dict[str, _Group] = field(default_factory=dict)
    outside: list[_Chain] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)


class _Unknown(Exception):
    """The source has something that this module does not draw."""


def draw(source: str, width: int) -> str | None:
    """The picture in at most `width` columns, or None where it has something unknown.

    >>> print(draw('flowchart LR\\n  a((5)) --> b["2 ✓"] -- "later" --> c', 40))
    (5) → [2 ✓] ─later→ c
    """
    lines = [line.strip() for line in source.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("%%")]
    if not lines:
        return None
    try:
        if lines[0] == "sequenceDiagram":
            return draw_sequence(lines[1:], width)
        if not lines[0].startswith(("flowchart", "graph ")):
            return None
        drawn = _draw_chart(_parse(lines[1:]), width)
    except _Unknown:
        return None
    return "\n".join(drawn)


def _parse(lines: list[str]) -> _Chart:
    chart = _Chart()
    group: _Group | None = None
    for line in lines:
        if line.startswith(_IGNORED):
            continue
        if match := _SUBGRAPH.fullmatch(line):
            if group is not None:
                raise _Unknown(line)
            group = chart.groups.setdefault(match["id"], _Group(match["title"] or match["id"]))
        elif line == "end":
            group = None
        else:
            chain = _parse_chain(line.rstrip(";"), chart.labels)
            (group.chains if group is not None else chart.outside).append(chain)
    return chart


def _parse_chain(line: str, labels: dict[str, str]) -> _Chain:
    chain = _Chain([], [])
    position = 0
    while True:
        node = _NODE.match(line, position)
        if node is None:
            raise _Unknown(line)
        chain.nodes.append(node["id"])
        for shape, form in _SHAPES.items():
            if node[shape] is not None:
                labels[node["id"]] = form.format(_plain(node[shape]))
        position = node.end()
        if not line[position:].strip():
            return chain
        edge = _EDGE.match(line, position)
        if edge is None:
            raise _Unknown(line)
        label = edge["within"] or edge["beside"] or ""
        chain.edges.append((_ARROWS[edge["tail"] or edge["plain"]], _plain(label)))
        position = edge.end()


def _plain(label: str) -> str:
    return re.sub(r"\s*<br\s*/?>\s*", ", ", label.strip().strip('"'))


def _draw_chart(chart: _Chart, width: int) -> list[str]:
    drawn: list[str] = []
    between = [chain for chain in chart.outside if set(chain.nodes) <= set(chart.groups)]
    steps = {
        (left, right): label
        for chain in between
        for left, right, (_, label) in zip(chain.nodes, chain.nodes[1:], chain.edges, strict=False)
    }
    names = list(chart.groups)
    for position, (name, group) in enumerate(chart.groups.items()):
        drawn += textwrap.wrap(group.title, width)
        for chain in group.chains:
            drawn += _draw_chain(chain, chart.labels, width, indent="  ")
        following = names[position + 1] if position + 1 < len(names) else ""
        if (label := steps.pop((name, following), None)) is not None:
            drawn += [f"    │ {label}".rstrip(), "    ▼"]
        elif following:
            drawn.append("")
    titles = {name: group.title for name, group in chart.groups.items()}
    rest = [_Chain(list(ends), [("→", label)]) for ends, label in steps.items()]
    for chain in [*rest, *(one for one in chart.outside if one not in between)]:
        drawn += _draw_chain(chain, chart.labels | titles, width, indent="")
    return drawn


def _draw_chain(chain: _Chain, labels: dict[str, str], width: int, indent: str) -> list[str]:
    """The chain on one line, or broken before an arrow where it would be too wide."""
    lines = [indent + labels.get(chain.nodes[0], chain.nodes[0])]
    for (arrow, label), node in zip(chain.edges, chain.nodes[1:], strict=True):
        link = f" ─{label}{arrow} " if label else f" {arrow} "
        piece = link + labels.get(node, node)
        if len(lines[-1]) + len(piece) > width:
            lines.append(indent + "  " + piece.lstrip())
        else:
            lines[-1] += piece
    return lines
