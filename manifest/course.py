"""The course's topics and lessons in order, read from `course.yaml`."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

COURSE_FILE = Path(__file__).with_name("course.yaml")


@dataclass(frozen=True, slots=True)
class Lesson:
    """One lesson; `path` names it everywhere: `kv_cache/block_pool`."""

    topic: str
    name: str
    title: str
    summary: str
    written: bool

    @property
    def path(self) -> str:
        return f"{self.topic}/{self.name}"


@dataclass(frozen=True, slots=True)
class Topic:
    """A folder of lessons."""

    name: str
    title: str
    summary: str
    lessons: tuple[Lesson, ...]

    @property
    def written(self) -> tuple[Lesson, ...]:
        return tuple(lesson for lesson in self.lessons if lesson.written)


class UnknownName(LookupError):
    """No lesson or topic has that name; `suggestions` are the nearest ones that exist."""

    def __init__(self, name: str, suggestions: tuple[str, ...]) -> None:
        super().__init__(name, suggestions)
        self.name = name
        self.suggestions = suggestions

    def __str__(self) -> str:
        if len(self.suggestions) > 1 and all(s.endswith(f"/{self.name}") for s in self.suggestions):
            return f"{self.name}: more than one lesson has that name; say which: " + " or ".join(
                self.suggestions
            )
        guess = f"; did you mean {self.suggestions[0]}?" if self.suggestions else ""
        return f"{self.name}: no such lesson{guess}"


class MalformedCourse(ValueError):
    """`course.yaml` does not have the shape that its first lines describe."""


@dataclass(frozen=True, slots=True)
class Course:
    """All topics, in the order in which they are taught.

    >>> course = load()
    >>> course.topics[3].name
    'kv_cache'
    >>> course.lesson("block_pool").path
    'kv_cache/block_pool'
    """

    topics: tuple[Topic, ...]

    def __iter__(self) -> Iterator[Lesson]:
        return (lesson for topic in self.topics for lesson in topic.lessons)

    @property
    def written(self) -> tuple[Lesson, ...]:
        return tuple(lesson for lesson in self if lesson.written)

    def topic(self, name: str) -> Topic | None:
        """The topic of that name, or None."""
        return next((topic for topic in self.topics if topic.name == name.strip("/")), None)

    def lesson(self, name: str) -> Lesson:
        """The lesson called `topic/name`, or `name` alone where one lesson only has it.

        A path to one of the lesson's files (`exercises/kv_cache/block_pool.py`) names it too.

        Raises:
            UnknownName: with the nearest names, or with all that are meant by an ambiguous one.
        """
        wanted = _without_folders(name)
        found = [lesson for lesson in self if wanted in (lesson.path, lesson.name)]
        if len(found) == 1:
            return found[0]
        if found:
            raise UnknownName(wanted, tuple(lesson.path for lesson in found))
        raise UnknownName(name, self._nearest(wanted))

    def _nearest(self, wanted: str) -> tuple[str, ...]:
        names = {lesson.name: lesson.path for lesson in self}
        names |= {lesson.path: lesson.path for lesson in self}
        names |= {topic.name: topic.name for topic in self.topics}
        matches = difflib.get_close_matches(wanted, names, n=3, cutoff=0.5)
        matches += [name for name in names if wanted and wanted in name.split("/")[-1]]
        return tuple(dict.fromkeys(names[match] for match in matches))


def _without_folders(name: str) -> str:
    parts = [part for part in name.replace("\\", "/").split("/") if part]
    if len(parts) > 2 or name.endswith((".py", ".md")):
        parts = parts[-2:]
    return "/".join(parts).removesuffix(".py").removesuffix(".md")


@cache
def load(file: Path = COURSE_FILE) -> Course:
    """Read the course.

    Raises:
        MalformedCourse: the file is no YAML, lacks a key, or names a lesson twice.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        data = yaml.load(file.read_text(encoding="utf-8"), Loader=loader)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        problem = " ".join(str(error).split())
        raise MalformedCourse(f"{file.name}: not YAML: {problem}") from error
    try:
        course = Course(tuple(_topic(entry) for entry in data["topics"]))
    except (KeyError, TypeError) as error:
        raise MalformedCourse(f"{file.name}: a topic or lesson lacks {error}") from error
    paths = [lesson.path for lesson in course]
    twice = {path for path in paths if paths.count(path) > 1}
    if twice:
        raise MalformedCourse(f"{file.name}: named twice: {', '.join(sorted(twice))}")
    return course


def _topic(entry: dict[str, Any]) -> Topic:
    lessons = tuple(
        Lesson(entry["name"], one["name"], one["title"], one["summary"], one["written"])
        for one in entry["lessons"]
    )
    return Topic(entry["name"], entry["title"], entry["summary"], lessons)
