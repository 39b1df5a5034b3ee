"""Several files changed together: all of them, or none."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from manifest import facts
from manifest.symbols import CITATION, key_of


def write_together(contents: Mapping[Path, str]) -> None:
    """Write all files; if one cannot be written, all are as they were before.

    Raises:
        OSError: nothing has changed.
    """
    before = {path: path.read_bytes() if path.exists() else None for path in contents}
    beside: dict[Path, Path] = {}
    try:
        for path, content in contents.items():
            beside[path] = _written_beside(path, content)
        for path, new in beside.items():
            os.replace(new, path)
    except OSError:
        for path, content_before in before.items():
            if path in beside:
                beside[path].unlink(missing_ok=True)
            _put_back(path, content_before)
        raise


def cite_anew(text: str, targets: Mapping[str, str | None]) -> str:
    """The text with each citation led to its target; without the link where that is None.

    >>> cite_anew("[`f`](vllm:a.py#f), [g](vllm:a.py#g)", {"a.py#f": "b.py#f", "a.py#g": None})
    '[`f`](vllm:b.py#f), g'
    """

    def cited(match: re.Match[str]) -> str:
        key = key_of(match["path"], match["symbol"] or "")
        target = targets.get(key, key)
        return match["label"] if target is None else f"[{match['label']}](vllm:{target})"

    return CITATION.sub(cited, text)


def state_anew(text: str, values: Mapping[str, Any], dropped: frozenset[str]) -> str:
    """The text with new values of facts, each written as the old one was.

    >>> state_anew("[2,048](fact:a) and [1](fact:b)", {"a": 4096}, frozenset({"b"}))
    '[4,096](fact:a) and 1'
    """

    def stated(match: re.Match[str]) -> str:
        label, name = match["label"], match["name"]
        if name in dropped:
            return label
        if name in values:
            label = facts.write_value(label, values[name])
        return f"[{label}](fact:{name})"

    return facts.LINK.sub(stated, text)


def change_facts(
    text: str, values: Mapping[str, Any], places: Mapping[str, str], dropped: frozenset[str]
) -> str:
    """`facts.yaml` with other values and places, and without what is dropped; comments stay.

    >>> change_facts("a:\\n  value: 1\\nb:\\n  value: 2\\n", {"a": 3}, {}, frozenset("b"))
    'a:\\n  value: 3\\n'
    """
    lines = []
    name = ""
    for line in text.splitlines(keepends=True):
        if line[:1] not in (" ", "#", "\n"):
            name = line.rstrip().rstrip(":")
        if name in dropped and line[:1] not in ("#", "\n"):
            continue
        if name in values and line.startswith("  value:"):
            lines.append(f"  value: {_yaml(values[name])}\n")
        elif name in places and line.startswith("  at:"):
            lines.append(f"  at: {places[name]}\n")
        else:
            lines.append(line)
    return "".join(lines)


def _yaml(value: Any) -> str:
    import yaml

    dumped: str = yaml.safe_dump(value, default_flow_style=True, width=1000, allow_unicode=True)
    return dumped.removesuffix("...\n").strip()


def _put_back(path: Path, content: bytes | None) -> None:
    if content is None:
        path.unlink(missing_ok=True)
    elif path.read_bytes() != content:
        path.write_bytes(content)


def _written_beside(path: Path, content: str) -> Path:
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as stream:
        stream.write(content)
    os.chmod(name, path.stat().st_mode & 0o777 if path.exists() else 0o644)
    return Path(name)
