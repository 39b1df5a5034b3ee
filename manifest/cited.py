"""Where the course cites vLLM's source: lessons' texts, the glossary, docstrings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from manifest.symbols import citations

ROOT = Path(__file__).parents[1]
_PLACES = (
    "exercises/*/*.md",
    "manifest/glossary.yaml",
    "reference/**/*.py",
    "solutions/*/*.py",
)


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file of the course, its path relative to the course's folder."""

    file: str
    line: int

    @property
    def lesson(self) -> str | None:
        """The lesson whose text this is, if it is one: `kv_cache/block_pool`."""
        inside = self.file.removeprefix("exercises/")
        return inside.removesuffix(".md") if inside != self.file else None


def cited(root: Path = ROOT) -> dict[str, tuple[Place, ...]]:
    """All cited symbols by their keys, each with the places that cite it."""
    found: dict[str, tuple[Place, ...]] = {}
    for file in citing_files(root):
        text = file.read_text(encoding="utf-8")
        # Most files have none, and this is quicker.
        if "](vllm:" in text:
            for one in citations(text):
                place = Place(file.relative_to(root).as_posix(), one.line)
                found[one.key] = (*found.get(one.key, ()), place)
    return found


def citing_files(root: Path = ROOT) -> Iterator[Path]:
    """All files that may cite."""
    for pattern in _PLACES:
        yield from sorted(root.glob(pattern))
