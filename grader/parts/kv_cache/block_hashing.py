"""Puts a submission's ``RequestHashes`` into the engine."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from reference.engine import Parts


class Hashes:
    """What the engine reads of a request's hashes: the submission need not keep all of it."""

    def __init__(
        self, lesson: Any, hash_name: str, hash_block_size: int, *args: Any, **options: Any
    ) -> None:
        self.hash_block_size = hash_block_size
        self._theirs = lesson.RequestHashes(hash_name, hash_block_size, *args, **options)

    @property
    def block_hashes(self) -> list[bytes]:
        block_hashes: list[bytes] = self._theirs.block_hashes
        return block_hashes

    def append(self, token_ids: Sequence[int]) -> None:
        self._theirs.append(token_ids)


def install(parts: Parts, lesson: Any) -> Parts:
    def block_hasher(*args: Any, **options: Any) -> Hashes:
        return Hashes(lesson, *args, **options)

    return replace(parts, block_hasher=block_hasher)
