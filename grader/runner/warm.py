"""The grader's door: ``grade`` for once, ``WarmGrader`` for again and again."""

import ast
import functools
from collections.abc import Callable
from pathlib import Path

import msgspec

from grader import cache, lessons
from grader.lessons import Lesson
from grader.places import places
from grader.runner import resident
from grader.runner.cores import cores
from grader.runner.interpreter import OWN, Interpreter
from grader.runner.process import Closed, fork
from grader.runner.resident import Answer, Manner, Progress, Request
from grader.stub import is_stub
from grader.verdict import GraderError, Verdict

MOST_JOBS = 4

Tell = Callable[[int, int], None]


def grade(
    lesson: str | Lesson,
    submission: Path,
    interpreter: Interpreter = OWN,
    fresh: bool = False,
    jobs: int | None = None,
    tell: Tell | None = None,
) -> Verdict:
    """Grade a submission: the verdict kept from the last time, or a new one.

    ``interpreter`` is what runs the submission, ``fresh`` leaves kept verdicts alone,
    ``jobs`` is how many processes share the checks (one for each core, at most four), and
    ``tell`` hears how many of how many tasks are done.

    Raises:
        UnknownLesson: no lesson has this name.
    """
    lesson = lessons.find(lesson) if isinstance(lesson, str) else lesson
    if is_stub(lesson, submission):
        return not_started(lesson)
    lasting = interpreter == OWN
    if lasting and not fresh and (kept := _kept(lesson, submission)):
        return kept
    with WarmGrader(lesson, interpreter, jobs) as grader:
        # While it gets ready; a file saved later than this is not what was graded.
        key = _key(lesson, submission) if lasting else None
        verdict = grader.grade(submission, tell)
    if key and key == _key(lesson, submission):
        cache.keep(places().state, key, verdict)
    return verdict


class WarmGrader:
    """A process that has collected the lesson's suite and started workers, ready to grade.

    It is forked when this is made; a program with threads makes it before it starts them.
    """

    def __init__(
        self, lesson: str | Lesson, interpreter: Interpreter = OWN, jobs: int | None = None
    ) -> None:
        self.lesson = lessons.find(lesson) if isinstance(lesson, str) else lesson
        self._serve = functools.partial(
            resident.serve,
            lesson=self.lesson,
            interpreter=interpreter,
            jobs=jobs or default_jobs(),
        )
        self._process = fork(self._serve)

    def grade(
        self, submission: Path, tell: Tell | None = None, manner: Manner = "verdict"
    ) -> Verdict:
        """Grade a submission; a grader that dies of it gives a ``grader_error`` and is replaced."""
        if is_stub(self.lesson, submission):
            return not_started(self.lesson)
        try:
            return self._grade(Request(str(submission), manner), tell)
        except Closed:
            self._process.end()
            self._process = fork(self._serve)
            cause = GraderError("the grader's own process ended")
            return Verdict(self.lesson.name, "grader_error", 0, 0, error=cause)

    def close(self) -> None:
        self._process.end()

    def __enter__(self) -> "WarmGrader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _grade(self, request: Request, tell: Tell | None) -> Verdict:
        channel = self._process.channel
        channel.send(msgspec.msgpack.encode(request))
        while True:
            answer = msgspec.msgpack.decode(channel.receive(), type=Answer)
            if not isinstance(answer, Progress):
                return answer.verdict
            if tell:
                tell(answer.done, answer.total)


def not_started(lesson: Lesson) -> Verdict:
    """The verdict on an untouched stub, for which nothing is run."""
    return Verdict(lesson.name, "not_started", 0, _points(lesson.suite))


def default_jobs() -> int:
    """One process for each core that this one may use, at most four."""
    return min(len(cores()), MOST_JOBS)


def _kept(lesson: Lesson, submission: Path) -> Verdict | None:
    key = _key(lesson, submission)
    return cache.find(places().state, lesson.name, key) if key else None


def _key(lesson: Lesson, submission: Path) -> str | None:
    try:
        return cache.key(lesson, submission)
    except OSError:
        return None


def _points(suite: Path) -> int:
    """The points of a suite's checks, read off its text."""
    try:
        tree = ast.parse(suite.read_bytes())
    except (OSError, SyntaxError):
        return 0
    calls = [
        decorator
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith("check")
    ]
    values = [word.value for call in calls for word in call.keywords if word.arg == "points"]
    values += [call.args[0] for call in calls if call.args]
    points = [value.value for value in values if isinstance(value, ast.Constant)]
    return sum(value for value in points if isinstance(value, int))
