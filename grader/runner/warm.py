"""The grader's door: ``grade`` for once, ``WarmGrader`` for again and again."""

import ast
import functools
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from grader import cache, lessons
from grader.lessons import Lesson
from grader.places import places
from grader.runner import resident
from grader.runner.cores import cores
from grader.runner.interpreter import OWN, Interpreter
from grader.runner.loading import unreadable
from grader.runner.process import Child, Closed, Silent, fork, wait_on
from grader.runner.resident import Answer, Manner, Progress, Request
from grader.source import Source, Unreadable, read_source
from grader.stub import is_stub_source
from grader.verdict import GraderError, Verdict

MOST_JOBS = 4
# Seconds without a sign of progress, after which nothing is expected any more: longer than the
# longest task and the collecting of a suite before it.
LONGEST_SILENCE = 300.0

Tell = Callable[[int, int], None]


def grade(
    lesson: str | Lesson,
    submission: Path | Source,
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
        OSError: a file of the lesson cannot be read.
    """
    lesson = lessons.find(lesson) if isinstance(lesson, str) else lesson
    source = _read(lesson, submission)
    if isinstance(source, Verdict):
        return source
    lasting = interpreter == OWN
    if lasting and not fresh:
        kept = cache.find(places().state, lesson.name, cache.key(lesson, source))
        if kept:
            return kept
    with WarmGrader(lesson, interpreter, jobs) as grader:
        # While it gets ready; a file of the course saved later than this is not what it goes by.
        key = cache.key(lesson, source) if lasting else None
        verdict = grader.grade(source, tell)
    if key and key == cache.key(lesson, source):
        cache.keep(places().state, key, verdict)
    return verdict


class WarmGrader:
    """A process that has collected the lesson's suite and started workers, ready to grade.

    It is forked when this is made, and ends with the thread that did; a program with threads makes
    it before it starts them.
    """

    def __init__(
        self, lesson: str | Lesson, interpreter: Interpreter = OWN, jobs: int | None = None
    ) -> None:
        self.lesson = lessons.find(lesson) if isinstance(lesson, str) else lesson
        self._longest = LONGEST_SILENCE * max(1.0, interpreter.patience)
        self._serve = functools.partial(
            resident.serve,
            lesson=self.lesson,
            interpreter=interpreter,
            jobs=jobs or default_jobs(),
        )
        self._process: Child | None = fork(self._serve)

    def grade(
        self,
        submission: Path | Source,
        tell: Tell | None = None,
        manner: Manner = "verdict",
        look: Callable[[], None] | None = None,
    ) -> Verdict:
        """Grade a submission; a grader that dies of it gives a ``grader_error`` and is replaced.

        ``look`` is called again and again while the verdict is awaited; it may raise to end that.
        """
        source = _read(self.lesson, submission)
        if isinstance(source, Verdict):
            return source
        if self._process is None:
            self._process = fork(self._serve)
        request = Request(os.fsencode(source.path), source.content, manner)
        try:
            return self._grade(self._process, request, tell or _say_nothing, look or wait_on)
        except (Closed, Silent) as error:
            self._kill()
            problem = "ended" if isinstance(error, Closed) else f"is stuck: {error}"
            cause = GraderError(f"the grader's own process {problem}")
            return Verdict(self.lesson.name, "grader_error", 0, 0, error=cause)
        except BaseException:
            self._kill()  # in the midst of a task
            raise

    def close(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None

    def __enter__(self) -> "WarmGrader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()

    def _grade(
        self, process: Child, request: Request, tell: Tell, look: Callable[[], None]
    ) -> Verdict:
        process.channel.send(msgspec.msgpack.encode(request))
        while True:
            answer = msgspec.msgpack.decode(process.receive(self._longest, look), type=Answer)
            if not isinstance(answer, Progress):
                return answer.verdict
            tell(answer.done, answer.total)


def not_started(lesson: Lesson) -> Verdict:
    """The verdict on an untouched stub, for which nothing is run."""
    return Verdict(lesson.name, "not_started", 0, _points(lesson.suite))


def default_jobs() -> int:
    """One process for each core that this one may use, at most four."""
    return min(len(cores()), MOST_JOBS)


def _read(lesson: Lesson, submission: Path | Source) -> Source | Verdict:
    """The source to grade, or the verdict where nothing is to be run."""
    try:
        source = submission if isinstance(submission, Source) else read_source(submission)
    except Unreadable as error:
        problem = unreadable(error, lesson)
        return Verdict(lesson.name, "cannot_load", 0, _points(lesson.suite), error=problem)
    return not_started(lesson) if is_stub_source(lesson, source) else source


def _say_nothing(_done: int, _total: int) -> None:
    """What is done with the progress where nobody asks for it."""


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
