"""One session of `vllmlings watch`: events in, verdicts and pages out."""

from __future__ import annotations

import sys

from rich.console import RenderableType
from rich.text import Text

from grader.commands.common import Learner
from grader.commands.hint import next_hint
from grader.grading import remember
from grader.progress import digest
from grader.report.console import make_console, show
from grader.report.course import course_list
from grader.report.hints import hint_page
from grader.report.verdict import verdict_page
from grader.runner import WarmGrader
from grader.standing import standings
from grader.verdict import Verdict
from grader.watching import Events, HungUp, Key, Saved
from manifest.course import Lesson

CLEAR = "\x1b[2J\x1b[3J\x1b[H"
KEYS = (("n", "next"), ("h", "hint"), ("l", "list"), ("r", "run again"), ("q", "quit"))


class WatchSession:
    """Grades the lesson at once and at each save, keeping what is costly warm between."""

    def __init__(self, learner: Learner, lesson: Lesson, events: Events, keys: bool) -> None:
        self._learner = learner
        self._lesson = lesson
        self._events = events
        self._keys = keys
        self._warm: WarmGrader | None = None
        self._verdict: Verdict | None = None

    def run(self) -> None:
        """Until `q`, Ctrl-C, or the terminal goes."""
        try:
            self._begin(self._lesson)
            for event in self._events:
                if isinstance(event, HungUp) or event == Key("q"):
                    return
                self._answer(event)
        except KeyboardInterrupt:
            return
        finally:
            self._close()

    def _answer(self, event: Saved | Key | HungUp) -> None:
        match event:
            case Saved() | Key("r"):
                self._check()
            case Key("n"):
                self._next()
            case Key("h"):
                self._hint()
            case Key("l"):
                self._list()

    def _begin(self, lesson: Lesson) -> None:
        self._close()
        self._lesson = lesson
        self._events.follow(self._learner.places.exercise(lesson.path))
        self._check()

    def _close(self) -> None:
        if self._warm is not None:
            self._warm.close()
            self._warm = None

    def _check(self) -> None:
        self._clear()
        self._say(f"Checking {self._lesson.path} …")
        if self._warm is None:
            self._warm = WarmGrader(self._lesson.path)
        exercise = self._learner.places.exercise(self._lesson.path)
        content = digest(exercise)
        self._verdict = self._warm.grade(exercise)
        remember(self._learner.progress, self._verdict, content)
        show(verdict_page(self._verdict, exercise, make_console().width, what_next=False))
        self._show_keys()

    def _next(self) -> None:
        if self._verdict is None or self._verdict.status != "passed":
            self._say(f"{self._lesson.path} has not passed yet; `n` goes on after a pass.")
            return
        following = self._learner.lesson_after(self._lesson)
        if following is None:
            self._say("Every lesson that is written so far has passed.")
            return
        self._begin(following)

    def _hint(self) -> None:
        import click

        try:
            page: RenderableType = hint_page(self._lesson, *next_hint(self._learner, self._lesson))
        except click.ClickException as error:
            page = Text(error.format_message())
        self._show(page)

    def _list(self) -> None:
        learner = self._learner
        all_standings = standings(learner.course, learner.progress, learner.places)
        self._show(course_list(learner.course.topics, all_standings, everything=False))

    def _show(self, page: RenderableType) -> None:
        self._say("")
        show(page)
        self._show_keys()

    def _show_keys(self) -> None:
        if self._keys:
            line = Text("\n")
            for key, what in KEYS:
                line.append(f" {key} ", style="reverse").append(f" {what}   ")
            show(line)
        else:
            self._say("Waiting for the next save; Ctrl-C ends.")
        sys.stdout.flush()

    @staticmethod
    def _say(line: str) -> None:
        print(line, flush=True)

    @staticmethod
    def _clear() -> None:
        if sys.stdout.isatty():
            sys.stdout.write(CLEAR)
