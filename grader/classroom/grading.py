"""Grading a class: what has no verdict yet gets one, and each verdict goes to the journal first."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import msgspec

from grader.cache import standard
from grader.classroom.checks import checks_of
from grader.classroom.course import Course
from grader.classroom.executor import Executor, Result, Task
from grader.classroom.journal import Entry, Journal
from grader.classroom.submissions import Collected, Submission
from grader.lessons import Lesson
from grader.runner.warm import not_started
from grader.sandbox import SEALED, Sandbox
from grader.stub import stub_of
from grader.verdict import LoadError, Verdict

# Where more than these fail, it is not by chance.
MOST_TRIED_AGAIN = 20

Submissions = Collected | Sequence[Submission]
Tell = Callable[[int, int], None]


@dataclass(frozen=True)
class Graded:
    """A submission's entry in the journal; `is_new` where this run has made it."""

    entry: Entry
    is_new: bool


def grade_class(
    course: Course,
    collected: Submissions,
    executor: Executor,
    journal: Journal,
    sandbox: Sandbox = "bubblewrap",
    regrade: bool = False,
    tell: Tell = lambda _done, _all: None,
) -> Iterator[Graded]:
    """Grade every submission whose verdict the journal does not have, or (`regrade`) all of them.

    Gives each submission once its verdict is in the journal. `tell` hears how many of how many
    that are. Equal submissions are graded once; what the grader fails at is tried twice.
    """
    run = _Run(course, journal, sandbox, regrade)
    tell(0, len(collected))
    for number, graded in enumerate(run.over(collected, executor), start=1):
        tell(number, len(collected))
        yield graded


def key_of(lesson: str, digest: str, by: str, sandbox: Sandbox) -> str:
    """What a verdict depends on, as one digest.

    That is the submission (its `digest`), what it is graded `by` (`grader.cache.standard`), and
    what it is confined with.
    """
    parts = (lesson, digest, by, sandbox, repr(SEALED))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def verdict_without_running(lesson: Lesson, submission: Submission) -> Verdict | None:
    """The verdict on what cannot be run, or need not be: a problem, an untouched stub."""
    if submission.problem is not None:
        problem = submission.problem
        error = LoadError(problem.kind, submission.path, None, problem.cause, problem.fix)
        points = sum(check.points for check in checks_of(lesson))
        return Verdict(lesson.name, "cannot_load", 0, points, error=error)
    source = submission.source or b""
    is_stub = source.replace(b"\r\n", b"\n").rstrip() == _stub(lesson).rstrip()
    return not_started(lesson) if is_stub else None


class _Run:
    """One run over a class: which tasks are being done, and for whom."""

    def __init__(self, course: Course, journal: Journal, sandbox: Sandbox, regrade: bool) -> None:
        self._course, self._journal = course, journal
        self._sandbox, self._regrade = sandbox, regrade
        self._standard = cache(lambda lesson: standard(course.files_of(lesson)))
        self._waiting: dict[str, list[_Who]] = {}
        self._running: dict[str, Task] = {}
        self._entered: deque[tuple[_Who, bool]] = deque()
        self._graded_here: set[str] = set()

    def over(self, collected: Submissions, executor: Executor) -> Iterator[Graded]:
        failed: list[Task] = []
        for result in executor.run(self._tasks(collected)):
            task = self._running.pop(result.key)
            if result.verdict.status == "grader_error" and len(failed) < MOST_TRIED_AGAIN:
                failed.append(task)
            else:
                self._finish(result)
            yield from self._news()
        # A machine that was too busy, or short of memory, may not be so any more.
        for result in executor.run(failed):
            self._finish(result)
            yield from self._news()
        yield from self._news()

    def _finish(self, result: Result) -> None:
        self._graded_here.add(result.key)
        for who in self._waiting.pop(result.key):
            self._enter(who, result.verdict)

    def _tasks(self, collected: Submissions) -> Iterator[Task]:
        """What is to be graded; whatever has a verdict without that is entered on the way."""
        for submission in collected:
            lesson = self._course.files_of(submission.lesson)
            by = self._standard(submission.lesson)
            key = key_of(lesson.name, submission.digest, by, self._sandbox)
            who = _Who(submission.student, lesson.name, submission.path, key, submission.digest)
            if key in self._waiting:
                self._waiting[key].append(who)
            elif self._is_in_journal(who):
                self._entered.append((who, False))
            elif verdict := verdict_without_running(lesson, submission) or self._known(key):
                self._enter(who, verdict)
            else:
                self._waiting[key] = [who]
                source = submission.source or b""
                root = self._course.foreign_root
                task = Task(key, lesson.name, source, by, self._sandbox, root)
                self._running[key] = task
                yield task

    def _is_in_journal(self, who: _Who) -> bool:
        entry = self._journal.latest(who.student, who.lesson)
        is_same = entry is not None and (entry.key, entry.path) == (who.key, who.path)
        return is_same and self._known(who.key) is not None

    def _known(self, key: str) -> Verdict | None:
        if self._regrade and key not in self._graded_here:
            return None
        return self._journal.find(key)

    def _enter(self, who: _Who, verdict: Verdict) -> None:
        if isinstance(verdict.error, LoadError):
            # It was found where it was graded; the student knows it by its own name.
            error = msgspec.structs.replace(verdict.error, file=who.path)
            verdict = msgspec.structs.replace(verdict, error=error)
        self._journal.add(
            Entry(who.student, who.lesson, who.path, who.key, who.digest, self._sandbox, verdict)
        )
        self._entered.append((who, True))

    def _news(self) -> Iterator[Graded]:
        while self._entered:
            who, is_new = self._entered.popleft()
            entry = self._journal.latest(who.student, who.lesson)
            assert entry is not None
            yield Graded(entry, is_new)


@dataclass(frozen=True)
class _Who:
    """Whose submission it is; its source is not kept."""

    student: str
    lesson: str
    path: str
    key: str
    digest: str


@cache
def _stub(lesson: Lesson) -> bytes:
    return stub_of(lesson).encode()
