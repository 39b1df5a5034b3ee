"""A local index for each test, and releases read from it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from local_index import OLD, Heard, LocalIndex, Opened

from manifest.cache import Cache
from manifest.published import PublishedRelease


@pytest.fixture
def index() -> Iterator[LocalIndex]:
    with LocalIndex() as served:
        yield served


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def opened(index: LocalIndex, heard: Heard, tmp_path: Path) -> Iterator[Opened]:
    """Opens a release of the index: the older one is the pin, nothing of it is cited."""
    releases: list[PublishedRelease] = []

    def open_release(
        version: str = OLD, cited: dict[str, str] | None = None, timeout: float = 5.0
    ) -> PublishedRelease:
        client, cache = index.client(timeout), Cache(tmp_path / "cache")
        release = PublishedRelease(version, heard, client, cache, index.pins(), cited or {})
        releases.append(release)
        return release

    yield open_release
    for one in releases:
        one.close()
