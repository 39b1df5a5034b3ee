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
from grader.classroom.plain import Kind, NotPlain, of_system, read_plain, shown_size
from grader.source import LARGEST
from grader.worker.limits import MIB

LARGEST_NOTEBOOK = 16 * MIB
LONGEST_NAME = 120
SUFFIXES = (".py", ".ipynb")

ProblemKind = Kind | Literal["encoding", "notebook", "two_files", "unknown_lesson", "name"]
_FIXES: dict[Kind, str] = {
    "link": "hand in the file itself",
    "no_file": "hand in a plain file",
    "unreadable": "hand it in again, readable",
    "too_large": "hand in the lesson alone, without data or outputs",
}


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
                found = of_system(error, is_link)
                problem = Problem(found.kind, found.cause, _FIXES[found.kind])
                self._stray("/".join(names), problem)
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
    except NotPlain as error:
        problem = Problem(error.kind, error.cause, _FIXES[error.kind])
    except NotebookError as error:
        problem = Problem("notebook", error.cause, error.fix)
    except NotUtf8 as error:
        problem = Problem("encoding", str(error), "save the file as UTF-8")
    else:
        return Submission(place.student, place.lesson, path, source)
    return Submission(place.student, place.lesson, path, None, problem)


class NotUtf8(Exception):
    """A file that no encoding is named in, and that is no UTF-8."""


def _source(folder: Path, path: str, lesson: str) -> bytes:
    is_notebook = path.endswith(".ipynb")
    largest = LARGEST_NOTEBOOK if is_notebook else LARGEST
    content = read_plain(folder, path.split("/"), largest)
    if not is_notebook:
        return _utf8(content)
    source = solution_of(content, lesson)
    if len(source) > LARGEST:
        raise NotPlain("too_large", f"its code is larger than {shown_size(LARGEST)}")
    return source


def _utf8(content: bytes) -> bytes:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        # One that names its encoding is Python's to judge when it is loaded.
        if not any(b"coding" in line for line in content.split(b"\n", 2)[:2]):
            cause = f"byte {error.start + 1} is no UTF-8"
            raise NotUtf8(cause) from None
    return content


def _listed(names: list[str]) -> list[str]:
    """Those that are looked at, in order: none that is hidden or Python's own."""
    return sorted(name for name in names if not _is_hidden(name) and name != "__pycache__")


def _is_hidden(name: str) -> bool:
    # What begins with two dots is no tool's way to hide a file: somebody is to hear of it.
    return name.startswith(".") and not name.startswith("..")


def _problem_with_name(name: str) -> Problem | None:
    is_plain = name == name.strip() and _printable(name) == name and not name.startswith(".")
    if is_plain and len(name) <= LONGEST_NAME:
        return None
    cause = "the folder's name cannot stand in a report"
    return Problem("name", cause, f"give it one of at most {LONGEST_NAME} printable characters")


def _printable(text: str) -> str:
    r"""
    >>> _printable("a\nb"), _printable("Zoë")
    ('a\\nb', 'Zoë')
    """
    shown = (each if each.isprintable() else ascii(each)[1:-1] for each in text)
    return "".join(shown)
