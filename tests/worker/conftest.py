from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from grader.worker import Lesson, Session, Worker

Write = Callable[[str | bytes], Path]
Load = Callable[[str], Lesson]


@pytest.fixture(scope="session")
def worker() -> Iterator[Worker]:
    with Worker() as worker:
        yield worker


@pytest.fixture
def session(worker: Worker) -> Iterator[Session]:
    with worker.session(deadline=5.0) as session:
        yield session


@pytest.fixture
def impatient(worker: Worker) -> Iterator[Session]:
    with worker.session(deadline=0.3) as session:
        yield session


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(source: str | bytes) -> Path:
        path = tmp_path / "lesson.py"
        path.write_bytes(source if isinstance(source, bytes) else dedent(source).encode())
        return path

    return write


@pytest.fixture
def load(session: Session, write: Write) -> Load:
    """Loads a source as the module `lesson`."""
    return lambda source: session.load(write(source), "lesson")
