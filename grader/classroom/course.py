"""A course's folder: what lies where, and what its `classroom.yaml` says.

COURSE/
  classroom.yaml            optional: lessons, due dates, the late penalty
  submitted/<student>/<topic>/<lesson>.py or .ipynb
  gradebook.db              nbgrader's
  .vllmlings/journal.jsonl  every verdict
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml

from grader.lessons import ROOT, Lesson
from manifest.course import load

CONFIGURATION = "classroom.yaml"


class CourseError(Exception):
    """A course's folder that cannot be used: which file, what is wrong, what to do."""

    def __init__(self, path: Path, cause: str, fix: str) -> None:
        super().__init__(f"{path}: {cause}; {fix}")
        self.path, self.cause, self.fix = path, cause, fix


class Configuration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a teacher may set. All of it has a default.

    `lessons` names lessons or whole topics (all that are written). `due` is when a topic is due,
    a date meaning its end, in UTC unless it says otherwise. `late` is nbgrader's penalty: none,
    or zero points. `course_id` is nbgrader's name of the course.
    """

    lessons: tuple[str, ...] = ()
    due: dict[str, datetime] = {}
    late: Literal["none", "zero"] = "none"
    course_id: str = "default_course"


@dataclass(frozen=True)
class Course:
    """A course's folder, and the lessons it has, as `topic/lesson` in the course's order."""

    folder: Path
    lessons: tuple[str, ...]
    configuration: Configuration = field(default_factory=Configuration)
    root: Path = ROOT

    @property
    def submitted(self) -> Path:
        return self.folder / "submitted"

    @property
    def journal(self) -> Path:
        return self.folder / ".vllmlings" / "journal.jsonl"

    @property
    def gradebook_url(self) -> str:
        """nbgrader's own default for this folder."""
        return f"sqlite:///{self.folder.resolve() / 'gradebook.db'}"

    @property
    def course_id(self) -> str:
        return self.configuration.course_id

    @property
    def foreign_root(self) -> str | None:
        """Where the lessons' files lie, if that is not where this package lies."""
        return None if self.root == ROOT else str(self.root)

    def files_of(self, lesson: str) -> Lesson:
        return Lesson(lesson, self.root)

    def due(self, topic: str) -> datetime | None:
        """When the topic is due, in UTC."""
        found = self.configuration.due.get(topic)
        if found is None:
            return None
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)


def open_course(folder: Path) -> Course:
    """The course in a folder.

    Raises:
        CourseError: it has no submissions, or its configuration cannot be used.
    """
    if not (folder / "submitted").is_dir():
        cause = "there is no folder `submitted` in it"
        raise CourseError(folder, cause, "put the submissions into submitted/STUDENT/TOPIC/")
    path = folder / CONFIGURATION
    configuration = _configuration(path)
    written = [lesson.path for lesson in load().written]
    chosen = configuration.lessons or tuple(written)
    for name in chosen:
        _require_known(path, name, written)
    topics = {lesson.split("/")[0] for lesson in written}
    for topic in configuration.due:
        if topic not in topics:
            raise CourseError(path, f"due: there is no topic {topic}", _one_of(sorted(topics)))
    return Course(folder, tuple(each for each in written if _named(each, chosen)), configuration)


def _configuration(path: Path) -> Configuration:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        return msgspec.convert(_with_times(data or {}), Configuration)
    except FileNotFoundError:
        return Configuration()
    except (OSError, UnicodeDecodeError, yaml.YAMLError, msgspec.ValidationError) as error:
        cause = " ".join(str(error).split())
        raise CourseError(path, cause, "correct it; see vllmlings classroom --help") from None


def _with_times(data: Any) -> Any:
    """The configuration with the end of the day where a due date has no time.

    >>> _with_times({"due": {"kv_cache": date(2027, 1, 31)}})
    {'due': {'kv_cache': datetime.datetime(2027, 1, 31, 23, 59, 59)}}
    """
    if not isinstance(data, dict) or not isinstance(data.get("due"), dict):
        return data
    due = {
        topic: datetime.combine(day, time(23, 59, 59)) if type(day) is date else day
        for topic, day in data["due"].items()
    }
    return data | {"due": due}


def _require_known(path: Path, name: str, written: list[str]) -> None:
    if not any(_named(lesson, (name,)) for lesson in written):
        raise CourseError(path, f"there is no lesson or topic {name}", "see vllmlings list")


def _named(lesson: str, names: tuple[str, ...]) -> bool:
    """
    >>> _named("kv_cache/block_pool", ("kv_cache",)), _named("kv_cache/block_pool", ("kv",))
    (True, False)
    """
    topic, own = lesson.split("/")
    return any(name in (lesson, topic, own) for name in names)


def _one_of(names: list[str]) -> str:
    return f"there are {', '.join(names)}"
