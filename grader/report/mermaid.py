"""Mermaid pictures as text, for those that a terminal can show well."""

from __future__ import annotations


def draw(source: str, width: int) -> str | None:  # noqa: ARG001
    """The picture in at most `width` columns, or None where text would not do it justice."""
    return None
