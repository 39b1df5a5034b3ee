"""What a class has handed in: `submitted/<student>/<topic>/<lesson>.py` or `.ipynb`.

Nothing in that folder is trusted. No link is followed, nothing is read that is no plain file or
too large, and each of these is one typed problem of one submission.
"""

from __future__ import annotations

import difflib
import errno
import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import msgspec

from grader.classroom.notebook import NotebookError, solution_of
from grader.worker.limits import MIB

LARGEST_SOURCE = MIB
LARGEST_NOTEBOOK = 16 * MIB
LONGEST_NAME = 120
SUFFIXES = (".py", ".ipynb")

ProblemKind = Literal[
    "link",
    "no_file",
    "unreadable",
    "too_large",
    "encoding",
    "notebook",
    "two_files",
    "unknown_lesson",
    "name",
]


class Problem(msgspec.Struct, frozen=True):
    """Why a submission cannot be graded: the cause, and what the student is to do."""

    kind: ProblemKind
    cause: str
    fix: str


@dataclass(frozen=True)
class Submission:
    """One lesson of one student: either its `source` or the `problem` with it.

    `path` is relative to the folder of submissions; it is what a report shows.
    """

    student: str
    lesson: str
    path: str
    source: bytes | None
    problem: Problem | None = None

    @cached_property
    def digest(self) -> str:
        """Of its content, so that a changed submission is known."""
        content = self.source if self.source is not None else msgspec.json.encode(self.problem)
        return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True)
class Stray:
    """Something in the folder that is no submission of any lesson."""

    path: str
    problem: Problem


@dataclass(frozen=True)
class _Place:
    student: str
    lesson: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Collected:
    """All submissions, lesson by lesson. Each is read when the iteration comes to it."""

    folder: Path
    students: tuple[str, ...]
    strays: tuple[Stray, ...]
    _places: tuple[_Place, ...]

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Submission]:
        for place in self._places:
            yield _read(self.folder, place)


def collect(folder: Path, lessons: Sequence[str]) -> Collected:
    """What is handed in for these lessons (`topic/lesson`) in a course's folder `submitted`.

    Raises:
        OSError: the folder itself cannot be read.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "ada", "kv_cache", "block_pool.py")
    ...     file.parent.mkdir(parents=True)
    ...     _ = file.write_text("blocks = 1")
    ...     [(each.student, each.lesson, each.source) for each in
    ...      collect(Path(folder), ["kv_cache/block_pool"])]
    [('ada', 'kv_cache/block_pool', b'blocks = 1')]
    """
    finder = _Finder(lessons)
    students = finder.look_through(folder)
    order = {lesson: number for number, lesson in enumerate(lessons)}
    places = sorted(finder.places, key=lambda place: (order[place.lesson], place.student))
    return Collected(folder, tuple(students), tuple(finder.strays), tuple(places))


class _Finder:
    """Walks through the folder of submissions and notes what lies where."""

    def __init__(self, lessons: Sequence[str]) -> None:
        self._lessons = lessons
        self._topics = {lesson.split("/")[0] for lesson in lessons}
        self.places: list[_Place] = []
        self.strays: list[Stray] = []

    def look_through(self, folder: Path) -> list[str]:
        """Note all of it; gives the students."""
        students = []
        for name in _listed(os.listdir(folder)):
            if problem := _problem_with_name(name):
                self._stray(name, problem)
                continue
            with self._inside(folder, (name,)) as descriptor:
                if descriptor is not None:
                    students.append(name)
                    self._student(name, descriptor)
        return students

    def _student(self, student: str, descriptor: int) -> None:
        for topic in _listed(os.listdir(descriptor)):
            if topic not in self._topics:
                continue
            with self._inside(topic, (student, topic), descriptor) as inner:
                if inner is not None:
                    self._topic(student, topic, os.listdir(inner))

    def _topic(self, student: str, topic: str, names: list[str]) -> None:
        files: dict[str, list[str]] = {}
        for name in _listed(names):
            stem, suffix = os.path.splitext(name)
            if suffix not in SUFFIXES:
                continue
            lesson = f"{topic}/{stem}"
            if lesson in self._lessons:
                files.setdefault(lesson, []).append(name)
            else:
                self._stray(f"{student}/{topic}/{name}", self._unknown(lesson))
        for lesson, found in files.items():
            self.places.append(_Place(student, lesson, tuple(found)))

    def _unknown(self, lesson: str) -> Problem:
        near = difflib.get_close_matches(lesson, self._lessons, n=1)
        fix = f"name it {near[0]}" if near else "give it a lesson's name"
        return Problem("unknown_lesson", "no lesson of this class has this name", fix)

    @contextmanager
    def _inside(
        self, path: Path | str, names: tuple[str, ...], around: int | None = None
    ) -> Iterator[int | None]:
        """The descriptor of a folder; None where it is none, which is noted unless it is a file."""
        target = path / names[-1] if isinstance(path, Path) else path
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            descriptor = os.open(target, flags, dir_fd=around)
        except OSError as error:
            is_link = stat.S_ISLNK(os.stat(target, dir_fd=around, follow_symlinks=False).st_mode)
            if is_link or error.errno != errno.ENOTDIR:
                self._stray("/".join(names), _of_system(error, is_link))
            yield None
            return
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _stray(self, path: str, problem: Problem) -> None:
        self.strays.append(Stray(_printable(path), problem))


def _read(folder: Path, place: _Place) -> Submission:
    path = f"{place.student}/{place.lesson.split('/')[0]}/{place.names[0]}"
    if len(place.names) > 1:
        cause = f"there are {' and '.join(place.names)}, and only one can count"
        problem = Problem("two_files", cause, "remove one of them")
        return Submission(place.student, place.lesson, path, None, problem)
    try:
        source = _source(folder, path, place.lesson)
    except _Unusable as unusable:
        return Submission(place.student, place.lesson, path, None, unusable.problem)
    return Submission(place.student, place.lesson, path, source)


class _Unusable(Exception):
    def __init__(self, kind: ProblemKind, cause: str, fix: str) -> None:
        super().__init__(cause)
        self.problem = Problem(kind, cause, fix)


def _source(folder: Path, path: str, lesson: str) -> bytes:
    is_notebook = path.endswith(".ipynb")
    content = _content(folder, path, LARGEST_NOTEBOOK if is_notebook else LARGEST_SOURCE)
    if not is_notebook:
        _decoded(content)
        return content
    try:
        source = solution_of(content, lesson)
    except NotebookError as error:
        raise _Unusable("notebook", error.cause, error.fix) from None
    if len(source) > LARGEST_SOURCE:
        raise _too_large(LARGEST_SOURCE)
    return source


def _decoded(content: bytes) -> None:
    # A cookie that names another encoding is Python's to judge: it is when the file is loaded.
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        if b"coding" in b"\n".join(content.splitlines()[:2]):
            return
        cause = f"byte {error.start} is no UTF-8"
        raise _Unusable("encoding", cause, "save the file as UTF-8") from None


def _content(folder: Path, path: str, largest: int) -> bytes:
    """A plain file's bytes, through folders none of which is a link."""
    opened: list[int] = []
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        around = None
        *folders, name = (str(folder), *path.split("/"))
        for part in folders:
            # The course's own folder may be a link: it is the teacher's.
            nofollow = flags if around is not None else flags & ~os.O_NOFOLLOW
            around = os.open(part, nofollow | os.O_DIRECTORY, dir_fd=around)
            opened.append(around)
        # Opening a pipe or a device must not wait for anybody.
        descriptor = os.open(name, flags | os.O_NONBLOCK | os.O_NOCTTY, dir_fd=around)
        opened.append(descriptor)
        return _plain(descriptor, largest)
    except OSError as error:
        problem = _of_system(error, error.errno == errno.ELOOP)
        raise _Unusable(problem.kind, problem.cause, problem.fix) from None
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _plain(descriptor: int, largest: int) -> bytes:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        kind = "a folder" if stat.S_ISDIR(found.st_mode) else "no plain file"
        raise _Unusable("no_file", f"it is {kind}", "hand in a plain file")
    if found.st_size > largest:
        raise _too_large(largest)
    content = bytearray()
    # It may grow while it is read.
    while len(content) <= largest and (part := os.read(descriptor, largest + 1 - len(content))):
        content += part
    if len(content) > largest:
        raise _too_large(largest)
    return bytes(content)


def _too_large(largest: int) -> _Unusable:
    cause = f"it is larger than {largest // MIB} MiB"
    return _Unusable("too_large", cause, "hand in the lesson alone, without data or outputs")


def _of_system(error: OSError, is_link: bool) -> Problem:
    if is_link:
        return Problem("link", "it is a symbolic link, which is not followed", "hand in the file")
    cause = f"it cannot be read: {error.strerror}"
    return Problem("unreadable", cause, "hand it in again, readable")


def _listed(names: list[str]) -> list[str]:
    """Those that are looked at, in order: none that is hidden or Python's own."""
    return sorted(name for name in names if not name.startswith(".") and name != "__pycache__")


def _problem_with_name(name: str) -> Problem | None:
    if _printable(name) != name or len(name) > LONGEST_NAME or name != name.strip():
        cause = "the folder's name cannot stand in a report"
        return Problem("name", cause, f"give it one of at most {LONGEST_NAME} printable characters")
    return None


def _printable(text: str) -> str:
    r"""
    >>> _printable("a\nb"), _printable("Zoë")
    ('a\\nb', 'Zoë')
    """
    shown = (each if each.isprintable() else ascii(each)[1:-1] for each in text)
    return "".join(shown)
