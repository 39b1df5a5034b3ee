"""Puts a submission's ``BlockPool`` into the engine."""

from dataclasses import replace
from typing import Any

from reference.engine import Parts


def install(parts: Parts, lesson: Any) -> Parts:
    return replace(parts, block_pool=lesson.BlockPool)
